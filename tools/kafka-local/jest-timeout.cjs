// Brokers that are killed and come back, and topics that get new leaders, take longer than Jest’s 5 s, on a busy machine much longer.
jest.setTimeout(120_000);
