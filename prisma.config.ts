import { defineConfig } from 'prisma/config';

// Read by Prisma's command line only; the services get their address from @undertone/config.
// eslint-disable-next-line no-restricted-exports -- Prisma asks for a default export
export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  // eslint-disable-next-line no-restricted-properties -- see above
  datasource: { url: process.env.DATABASE_URL ?? '' },
});
