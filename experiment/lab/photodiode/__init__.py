"""Measurement of the screen with a photodiode, which is a light sensor on the screen.

The steps, in this order: `flashes` shows flashes in the laboratory's window, as the stimuli of trials are shown, and
`flash_table` is the CSV file of these flashes. `recording` reads the recording of the photodiode. `light` finds the
onset and the offset of each flash. `delays` compares the light with the event codes and with the flashes that were
shown. `report` is the report for a technician.
"""
