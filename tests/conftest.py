"""Test settings for the whole suite: hypothesis without deadlines, reproducible in continuous integration."""

import os

from hypothesis import HealthCheck, settings

# A deadline, or a check that drawing is quick, would make a test depend on the machine's load.
settings.register_profile("local", deadline=None, print_blob=True, suppress_health_check=(HealthCheck.too_slow,))
settings.register_profile("continuous_integration", settings.get_profile("local"), derandomize=True)
settings.load_profile("continuous_integration" if os.environ.get("CI") else "local")
