import { KafkaError, kafkaErrorOf } from './kafka-error';

const failure = (message: string, facts: object = {}, cause?: Error): Error =>
  Object.assign(new Error(message, { cause }), facts);

it.each([
  ['topic-missing', failure('not here', { type: 'UNKNOWN_TOPIC_OR_PARTITION' })],
  ['refused', failure('no right', { type: 'TOPIC_AUTHORIZATION_FAILED' })],
  ['refused', failure('wrong password', { name: 'KafkaJSSASLAuthenticationError' })],
  [
    'refused',
    failure('retried', {}, failure('self-signed certificate', { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })),
  ],
  ['brokers-unreachable', failure('retried', {}, failure('connect ECONNREFUSED', { code: 'ECONNREFUSED' }))],
  ['brokers-unreachable', 'no error at all'],
])('%s', (code, error) => {
  expect(kafkaErrorOf(error, 'a topic')).toMatchObject({ code, cause: error });
});

it('tells the innermost cause, and of a missing topic what to run', () => {
  const unreachable = kafkaErrorOf(failure('gave up', {}, failure('connect ECONNREFUSED')), 'a topic');
  expect(unreachable.message).toContain('connect ECONNREFUSED');
  const missing = kafkaErrorOf(failure('x', { type: 'UNKNOWN_TOPIC_OR_PARTITION' }), 'a topic');
  expect(missing.message).toMatch(/"a topic".*undertone kafka topics apply/);
});

it('leaves an error of its own as it is', () => {
  const error = new KafkaError('refused', 'no');
  expect(kafkaErrorOf(error, 'a topic')).toBe(error);
});
