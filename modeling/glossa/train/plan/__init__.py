"""What a run will be, decided before it begins: settings, sizes by the data, start, resume, checks, devices."""
