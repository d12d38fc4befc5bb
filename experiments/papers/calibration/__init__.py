"""The packet model beside closed forms and other simulators."""
