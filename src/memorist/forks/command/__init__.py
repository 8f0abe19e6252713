"""Running a judged command line."""
