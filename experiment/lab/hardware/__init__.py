"""The laboratory's machine: window, monitors, refresh rate, keyboard and mouse, triggers, clock, and their check."""
