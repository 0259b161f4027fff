import { etagMatches, etagOf } from './entity-tag';

it('tags of different bodies differ, and of equal ones not', () => {
  expect(etagOf('{"a":1}')).toBe(etagOf('{"a":1}'));
  expect(etagOf('{"a":1}')).not.toBe(etagOf('{"a":2}'));
  expect(etagOf('')).toMatch(/^"[\w-]+"$/);
});

it.each([
  ['"x"', true],
  ['W/"x"', true],
  ['"y", "x"', true],
  ['"y",W/"x"', true],
  [' * ', true],
  ['"y"', false],
  ['x', false],
  ['"xx"', false],
  ['', false],
  [undefined, false],
])('If-None-Match: %s against "x" is %s', (header, matches) => {
  expect(etagMatches(header, '"x"')).toBe(matches);
});
