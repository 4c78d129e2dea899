"""The laboratory's machine: window, monitors, refresh rate, keyboard, mouse, triggers, clock, and machine check."""
