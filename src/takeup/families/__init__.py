"""Families of distributions that outcomes may have: what a world and an environment are made of.

The parameters of a family have the axes (.., X, Ka); those over (a) alone are taken as those of a single context.
"""

from takeup.families.base import Family
from takeup.families.levels import Categories
from takeup.families.named import family_of
from takeup.families.numbers import LogNormals, Normals
from takeup.families.rates import Exponentials, Poissons
from takeup.families.samples import Samples

__all__ = ["Categories", "Exponentials", "Family", "LogNormals", "Normals", "Poissons", "Samples", "family_of"]
