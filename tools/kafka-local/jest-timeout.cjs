// Brokers that are killed and come back, and topics that get new leaders, take longer than Jest's 5 s.
jest.setTimeout(60_000);
