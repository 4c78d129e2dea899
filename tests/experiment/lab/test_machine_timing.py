"""The timing that a real window reports, on a screen for which flips wait, and on a screen for which they do not."""

N_ATTEMPTS = 5
"""On a busy machine, the window may fail to see that flips wait. Then another window is opened."""


def reported(screen, *arguments):
    with screen.start("machine_timing", *arguments) as program:
        return program.reply()


def test_a_screen_for_which_flips_wait_is_reported_with_its_measured_rate(screen, psychtoolbox):
    for _ in range(N_ATTEMPTS):
        found = reported(screen, 50)
        if found["refresh"]["is_synchronised"]:
            break
    assert (found["machine"]["pacing"], found["machine"]["keyboard"]) == ("frames", "ptb")
    measured = f"measured {found['refresh']['measured_hz']:.2f} Hz"
    assert found["report"].startswith(f"Timing: Flips wait for the screen ({measured}, nominal ")
    assert 48 < found["machine"]["measured_hz"] < 52
    assert found["report"].endswith("psychtoolbox times key presses.")


def test_a_screen_for_which_flips_do_not_wait_is_a_warning_with_the_reason_of_the_window(screen):
    found = reported(screen)
    assert found["machine"]["pacing"] == "clock"
    assert found["report"].startswith("WARNING: the timing of this session is degraded.")
    assert found["refresh"]["reason"] in found["report"]
