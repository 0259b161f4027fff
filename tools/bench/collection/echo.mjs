// The ceiling of single requests: a bare Fastify route that answers the body it got. Any work is answered by its address.
import Fastify from 'fastify';

import { serveWork } from '../form/worker.mjs';

const app = Fastify({ bodyLimit: 1024 * 1024 });
app.addContentTypeParser('application/cbor', { parseAs: 'buffer' }, (_request, body, done) =>
  done(null, body),
);
app.post('/v1/tasks/:task/reports', (request, reply) => reply.send(request.body));
const url = await app.listen({ host: '127.0.0.1', port: 0 });
await serveWork(
  async () => ({ url }),
  () => app.close(),
);
