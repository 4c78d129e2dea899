"""Response boxes: boxes that type keys, boxes at a serial port, and Cedrus boxes, behind one interface."""
