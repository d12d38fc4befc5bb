"""Studies made with netcosim: papers, calibration, validation, benchmarks; a folder each."""
