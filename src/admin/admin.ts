/** `/admin`: every noun's routes, behind one door that asks for the scope of each. */
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { authorize } from '../http/bearer.ts'
import type { ApiRoute } from '../http/openapi.ts'
import type { Authenticate, Principal } from '../protocol/principal.ts'
import { badBody } from './body.ts'
import { readQuery } from './parameters.ts'
import type { AdminEnv, AdminReply, AdminRoute } from './route.ts'
import { ADMIN_ROUTES } from './routes.ts'

export interface AdminDoor {
  readonly env: AdminEnv
  readonly authenticate: Authenticate
  /** Counts the caller against the limits of this door. */
  admit(request: FastifyRequest, reply: FastifyReply, caller: Principal): void
}

export function registerAdmin(app: FastifyInstance, door: AdminDoor): void {
  app.register(async (scope) => {
    for (const type of ['application/json', 'application/merge-patch+json']) {
      // Read as text only: who is calling comes before what they say.
      scope.addContentTypeParser(type, { parseAs: 'string' }, async (_request: unknown, body: string | Buffer) =>
        String(body),
      )
    }
    for (const route of ADMIN_ROUTES) {
      scope.route({
        method: route.method,
        url: route.path.replace(/\{(\w+)\}/g, ':$1'),
        handler: async (request, reply) => send(reply, route, await answer(route, request, reply, door)),
      })
    }
  })
}

async function answer(
  route: AdminRoute,
  request: FastifyRequest,
  reply: FastifyReply,
  { env, authenticate, admit }: AdminDoor,
): Promise<AdminReply> {
  const caller = await authorizeFor(route, request, { env, authenticate })
  admit(request, reply, caller)
  return await route.run(
    {
      params: readParams(request.params),
      query: readQuery(request.url, route),
      body: readJson(request.body),
      ifMatch: request.headers['if-match'],
      caller,
      address: request.ip,
      requestId: request.id,
    },
    env,
  )
}

/** A caller with a good token and too little right is worth a line in the audit log. */
async function authorizeFor(
  route: AdminRoute,
  request: FastifyRequest,
  { env, authenticate }: Pick<AdminDoor, 'env' | 'authenticate'>,
): Promise<Principal> {
  const caller = await authorize(request.headers, authenticate, [])
  try {
    return await authorize(request.headers, async () => caller, [route.scope])
  } catch (error) {
    env.audit.record({
      event: 'access.refused',
      actor: caller.subject,
      client: caller.clientId,
      address: request.ip,
      requestId: request.id,
      details: { method: route.method, path: route.path, needs: route.scope },
    })
    throw error
  }
}

function send(reply: FastifyReply, route: AdminRoute, { status, body, lines, headers = {} }: AdminReply): FastifyReply {
  reply.code(status ?? 200).headers({ 'cache-control': 'no-store', ...headers })
  if (lines !== undefined) return reply.type(route.mediaType ?? 'text/plain').send(Readable.from(lines))
  if (body === undefined) return reply.code(204).send()
  return reply.type('application/json; charset=utf-8').send(body)
}

function readJson(text: unknown): unknown {
  if (typeof text !== 'string' || text === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    // What the parser says would repeat the text, and the text may be a password.
    throw badBody([{ path: '', text: 'it is not JSON' }])
  }
}

/** The router gives an object of texts for every route with parts that vary. */
function readParams(params: unknown): Record<string, string> {
  if (typeof params !== 'object' || params === null) return {}
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, String(value)]))
}

/** For /openapi.json. */
export function describeAdmin(): ApiRoute[] {
  return ADMIN_ROUTES.map((route) => ({
    method: route.method,
    path: route.path,
    tag: 'Administration',
    summary: route.summary,
    scopes: [route.scope],
    parameters: [
      ...Object.entries(route.query ?? {}).map(([name, description]) => ({ name, in: 'query', description }) as const),
      ...(route.method === 'PATCH'
        ? [
            {
              name: 'If-Match',
              in: 'header',
              required: true,
              description: 'The ETag of the version that is changed, or *.',
            } as const,
          ]
        : []),
    ],
    ...(route.body === undefined
      ? {}
      : { body: { [route.method === 'PATCH' ? 'application/merge-patch+json' : 'application/json']: route.body } }),
    replies: {
      [route.status ?? 200]: {
        description: route.reply,
        ...(route.status === 204 ? {} : { content: { [route.mediaType ?? 'application/json']: {} } }),
      },
    },
  }))
}
