"""Nothing here is a test: ``fuzz.py`` needs atheris, which only ``make fuzz`` installs."""

collect_ignore = ["fuzz.py"]
