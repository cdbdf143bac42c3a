"""Numbers of a truth that are the same on all machines: a simulation's random numbers follow from all of its bits."""

DIGITS = 11
"""Behind the first digit of a scale."""


def settled(number: float, scale: float) -> float:
    """A number to eleven digits of its scale, the nearest to that decimal.

    Sums may differ in a last bit where a machine adds in another order, and so may powers and logarithms. Python rounds
    decimals by whole numbers alone; a scale that differs in its last bit is the same to seven digits; 0 has no sign.
    """
    return round(float(number), DIGITS - int(f"{scale:e}".partition("e")[2])) + 0.0
