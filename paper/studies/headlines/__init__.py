"""What publications announce, beside what was measured here: the study `headlines`, and others that say something."""
