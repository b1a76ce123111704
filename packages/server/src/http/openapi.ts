/** `/openapi.json` (OpenAPI 3.1), generated from the route tables of the services. */
import { VERSION } from 'gatehouse-protocol'
import { type CompressedContent, compress, sendCompressed } from './compressed.ts'
import { JSON_TYPE } from './context.ts'
import type { Route } from './route.ts'

export type JsonSchema = Readonly<Record<string, unknown>>

export interface ApiRoute {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With `{name}` for parameters. */
  readonly path: string
  readonly tag: string
  readonly summary: string
  readonly description?: string
  /** Any one of these scopes is enough; empty needs a valid token alone, undefined needs none. */
  readonly scopes?: readonly string[]
  readonly parameters?: readonly ApiParameter[]
  readonly body?: ApiContent
  /** The body may be empty. */
  readonly mayLackBody?: true
  readonly replies: Readonly<Record<number, ApiReply>>
}

export interface ApiParameter {
  readonly name: string
  readonly in: 'query' | 'header' | 'path'
  readonly description: string
  readonly required?: boolean
  readonly schema?: JsonSchema
}

/** Schemas by media type. */
export type ApiContent = Readonly<Record<string, JsonSchema>>

export interface ApiReply {
  readonly description: string
  readonly content?: ApiContent
  readonly headers?: readonly string[]
}

export function openApiRoute(issuer: string, routes: readonly ApiRoute[]): Route {
  let document: CompressedContent | undefined
  return {
    method: 'GET',
    path: '/openapi.json',
    handle(context) {
      document ??= compress(JSON_TYPE, JSON.stringify(describeApi(issuer, routes)))
      context.setHeader('cache-control', 'no-cache')
      sendCompressed(context, document)
    },
  }
}

export function describeApi(issuer: string, routes: readonly ApiRoute[]): JsonSchema {
  const paths = [...Map.groupBy(routes, ({ path }) => path)].map(
    ([path, methods]) =>
      [path, Object.fromEntries(methods.map((route) => [route.method.toLowerCase(), operation(route)]))] as const,
  )
  return {
    openapi: '3.1.0',
    info: { title: 'Gatehouse', version: VERSION },
    servers: [{ url: issuer }],
    tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name })),
    paths: Object.fromEntries(paths),
    components: {
      schemas: { Problem: PROBLEM },
      securitySchemes: {
        token: {
          type: 'oauth2',
          flows: {
            authorizationCode: {
              authorizationUrl: `${issuer}/connect/authorize`,
              tokenUrl: `${issuer}/connect/token`,
              scopes: Object.fromEntries(routes.flatMap(({ scopes = [] }) => scopes.map((scope) => [scope, scope]))),
            },
          },
        },
      },
    },
  }
}

/** RFC 9457, with the stable code as a further member. */
const PROBLEM = {
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'Code'],
  properties: {
    type: { type: 'string', format: 'uri' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    Code: { type: 'string', description: 'Stable; for programs.' },
  },
} as const

function operation(route: ApiRoute): JsonSchema {
  const { method, path, tag, summary, description, scopes, parameters = [], body, mayLackBody, replies } = route
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
  const described = new Set(parameters.map(({ name }) => name))
  const all = [
    ...inPath
      .filter((name) => !described.has(name))
      .map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
    ...parameters.map(({ schema = { type: 'string' }, ...rest }) => ({ ...rest, schema })),
  ]
  return {
    operationId: `${method.toLowerCase()}${path.replace(/[^a-zA-Z]+(.)?/g, (_match, next: string | undefined) => (next ?? '').toUpperCase())}`,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    ...(scopes === undefined
      ? {}
      : { security: scopes.length === 0 ? [{ token: [] }] : scopes.map((scope) => ({ token: [scope] })) }),
    ...(all.length === 0 ? {} : { parameters: all }),
    ...(body === undefined ? {} : { requestBody: { required: mayLackBody === undefined, content: content(body) } }),
    responses: {
      ...Object.fromEntries(Object.entries(replies).map(([status, reply]) => [status, response(reply)])),
      default: {
        description: 'What went wrong.',
        content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
      },
    },
  }
}

function response({ description, content: types, headers = [] }: ApiReply): JsonSchema {
  return {
    description,
    ...(headers.length === 0
      ? {}
      : { headers: Object.fromEntries(headers.map((name) => [name, { schema: { type: 'string' } }])) }),
    ...(types === undefined ? {} : { content: content(types) }),
  }
}

function content(types: ApiContent): JsonSchema {
  return Object.fromEntries(Object.entries(types).map(([type, schema]) => [type, { schema }]))
}
