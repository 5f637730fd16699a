"""A fleet of stations that is kept busy: work, clock, requests of people, stations set aside."""
