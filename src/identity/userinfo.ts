/** /connect/userinfo (OpenID Connect Core §5.3): what an access token opens about its user, as it stands now. */
import type { FastifyError, FastifyInstance, FastifyRequest } from 'fastify'
import { asRefusal } from '../http/app.ts'
import { bearerCredentials, readBearer } from '../http/bearer.ts'
import { admitAt, type Doors } from '../http/doors.ts'
import type { Authenticate, Principal } from '../protocol/principal.ts'
import { Refusal } from '../protocol/refusal.ts'
import type { ClaimWish, Grants } from '../store/grants.ts'
import type { User } from '../store/users.ts'
import { claimsAbout } from './claims.ts'
import { formOf, JSON_TYPE, replyWithOAuthError, TOKEN_NEEDED } from './oauth-door.ts'
import { printable } from './oauth-error.ts'
import type { UserDirectory } from './user-directory.ts'

export interface UserinfoEnv {
  readonly doors: Pick<Doors, 'admit'>
  readonly authenticate: Authenticate
  readonly users: Pick<UserDirectory, 'findById'>
  readonly stores: { readonly grants: Pick<Grants, 'find'> }
}

type Wishes = Readonly<Record<string, ClaimWish>>

const MOST_REMEMBERED = 10_000
const FORM = /^application\/x-www-form-urlencoded\b/i

export function registerUserinfo(app: FastifyInstance, { authenticate, users, stores, doors }: UserinfoEnv): void {
  const admit = admitAt(doors, 'token')
  /** What a grant's `claims` parameter asked for never changes. */
  const remembered = new Map<string, Wishes>()
  /** What was told last about a token; both are the same objects as long as nothing about them changes. */
  const told = new WeakMap<Principal, { readonly user: User; readonly text: string }>()

  app.route({
    method: ['GET', 'POST'],
    url: '/connect/userinfo',
    exposeHeadRoute: false,
    handler: async (request, reply) => {
      const principal = await authenticate(tokenOf(request))
      if (principal === undefined) throw notValid(request)
      admit(request, reply, principal)
      if (principal.kind !== 'user' || !principal.scopes.has('openid')) throw notOpenId()
      const user = await users.findById(principal.subject)
      if (user === undefined || user.disabled) throw notValid(request)
      const last = told.get(principal)
      reply.header('content-type', JSON_TYPE)
      return last?.user === user ? last.text : tell(principal, user)
    },
    errorHandler: (error, request, reply) => replyWithOAuthError(challenged(error), request, reply),
  })

  async function tell(principal: Principal, user: User): Promise<string> {
    const claims = claimsAbout(user, principal.scopes, await wishesOf(principal))
    const text = JSON.stringify({ sub: user.id, ...claims })
    told.set(principal, { user, text })
    return text
  }

  async function wishesOf({ grantId }: Principal): Promise<Wishes> {
    if (grantId === undefined) return {}
    let wishes = remembered.get(grantId)
    if (wishes === undefined) {
      wishes = (await stores.grants.find(grantId))?.details.claims?.userinfo ?? {}
      if (remembered.size >= MOST_REMEMBERED) remembered.clear()
      remembered.set(grantId, wishes)
    }
    return wishes
  }
}

/** RFC 6750 §2: in the header, or in the form of a POST; one of them. A token in the address is not seen. */
function tokenOf(request: FastifyRequest): string {
  const { authorization } = request.headers
  const inBody = bodyToken(request)
  if (authorization === undefined) {
    if (inBody === undefined) throw new Refusal(TOKEN_NEEDED, 401, 'An access token is needed', bearer())
    return inBody
  }
  const token = bearerCredentials(authorization)
  if (token === undefined) throw malformed()
  if (inBody !== undefined) throw challenge(400, 'invalid_request', 'The access token was sent in two ways')
  return token
}

function bodyToken(request: FastifyRequest): string | undefined {
  const isForm = FORM.test(request.headers['content-type'] ?? '')
  if (request.method === 'GET') {
    if (isForm) throw challenge(400, 'invalid_request', 'A GET carries no form')
    return undefined
  }
  return isForm ? formOf(request).get('access_token') : undefined
}

/** The shape of a token is looked at when it is no good: one that is good has it. */
function notValid({ headers: { authorization } }: FastifyRequest): Refusal {
  if (authorization !== undefined && readBearer(authorization) === undefined) return malformed()
  return challenge(401, 'invalid_token', 'The access token is not valid')
}

/** RFC 6750 §3: what is wrong with the body before a token is looked for is told by a challenge too. */
function challenged(error: FastifyError | Refusal | Error): FastifyError | Refusal | Error {
  const refusal = asRefusal(error)
  if (refusal === undefined || refusal.details.headers !== undefined) return error
  return [400, 415].includes(refusal.status) ? challenge(400, 'invalid_request', printable(refusal.message)) : error
}

function malformed(): Refusal {
  return challenge(400, 'invalid_request', 'The Authorization header is malformed')
}

function notOpenId(): Refusal {
  return new Refusal('insufficient_scope', 403, 'The access token does not have the scope openid', {
    ...bearer('error="insufficient_scope"', 'scope="openid"'),
  })
}

function challenge(status: 400 | 401, error: 'invalid_token' | 'invalid_request', text: string): Refusal {
  return new Refusal(error, status, text, bearer(`error="${error}"`, `error_description="${text}"`))
}

/** RFC 6750 §3: without a token there is no error code. */
function bearer(...parts: string[]) {
  return { headers: { 'www-authenticate': ['Bearer realm="gatehouse"', ...parts].join(', ') } }
}
