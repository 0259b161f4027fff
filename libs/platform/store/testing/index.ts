export { startEmptyDatabase, startTestDatabase, type TestDatabase } from './test-database';
