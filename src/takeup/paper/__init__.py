"""The experiments of Stirn & Jebara (2019) and their published figures."""
