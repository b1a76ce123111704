/** Administration of licences: who has what of a product now and why, acceptances on paper, and who is a professional. */
import { createHash } from 'node:crypto'
import type { Standing, SubjectFacts } from '../licences/licences.ts'
import type { User } from '../store/accounts/user.ts'
import { badBody, type JsonObject, readObject, refuseUnknown } from './request/body.ts'
import { change, record } from './request/change.ts'
import { PAGE_REPLY, pageQuery, pageReply, readPage } from './request/page.ts'
import { type AdminCall, type AdminEnv, type AdminRoute, conflict, notFound, part } from './route.ts'
import { findUser } from './users.ts'

export const licenceRoutes: readonly AdminRoute[] = [
  {
    method: 'GET',
    path: '/admin/products/{product}/subjects',
    scope: 'Identity/Admin',
    summary: 'Lists who has what of a product now, and why, page by page: users ordered by username.',
    query: pageQuery('Users', 'username'),
    reply: `${PAGE_REPLY}; an item is {"user", "username", "access", "reason", "until", "kind", "status"}.`,
    run: listSubjects,
  },
  {
    method: 'POST',
    path: '/admin/agreements/{agreement}/acceptances',
    scope: 'Platform/Admin',
    summary: 'Records that a user or client has accepted the current version of an agreement, such as on paper.',
    body: {
      type: 'object',
      required: ['version'],
      properties: {
        user: { type: 'string', description: 'A user, by id or username; or' },
        client: { type: 'string', description: 'a client.' },
        version: { type: 'string', description: 'The current version.' },
        note: { type: 'string', maxLength: 512, description: 'Where the paper is.' },
      },
      additionalProperties: false,
    },
    reply: '{"agreement", "holder", "version"}',
    status: 201,
    run: recordAcceptance,
  },
  {
    method: 'PUT',
    path: '/admin/users/{user}/professional',
    scope: 'Identity/Admin',
    summary:
      'Records whether a user is a professional, which the user then cannot change; null leaves it to the user again.',
    body: {
      type: 'object',
      required: ['professional'],
      properties: { professional: { type: ['boolean', 'null'] } },
      additionalProperties: false,
    },
    run: setProfessional,
  },
]

type LicenceEnv = Pick<AdminEnv, 'stores' | 'clock' | 'licenceClock'>

async function readLicences({ stores, clock, licenceClock }: LicenceEnv) {
  const { licencesNow } = await import('../licences/licences.ts')
  return licencesNow({ stores, clock: (await licenceClock?.()) ?? clock })
}

/** What a user has of each product. */
export async function showLicences(user: User, env: LicenceEnv): Promise<JsonObject[]> {
  const { statusName, toSubject } = await import('../licences/licences.ts')
  const licences = await readLicences(env)
  const { products } = await licences.definitions()
  if (products.size === 0) return []
  const facts: SubjectFacts = await licences.facts(toSubject(user))
  const standings = await licences.standings(facts, [...products.values()])
  const status = statusName(facts.status)
  return standings.map(({ product, decision }) => ({ product: product.name, ...presentDecision(decision), status }))
}

async function listSubjects(call: AdminCall, env: AdminEnv) {
  const { statusName, toSubject } = await import('../licences/licences.ts')
  const licences = await readLicences(env)
  const name = part(call, 'product')
  const product = (await licences.definitions()).products.get(name)
  if (product === undefined) throw notFound('product', name)
  const page = readPage(call)
  const rows = []
  for (const user of await env.stores.users.list(page)) {
    const facts: SubjectFacts = await licences.facts(toSubject(user))
    const [standing] = await licences.standings(facts, [product])
    if (standing !== undefined)
      rows.push({
        ...{ user: user.id, username: user.username },
        ...presentDecision(standing.decision),
        status: statusName(facts.status),
      })
  }
  return pageReply(`/admin/products/${encodeURIComponent(name)}/subjects`, call, page, rows, {
    cursorKey: ({ username }) => username,
    present: (row) => row,
  })
}

function presentDecision({ access, reason, until, kind }: Standing['decision']): JsonObject {
  return {
    ...{ access, reason },
    ...(until !== undefined && { until: new Date(until).toISOString() }),
    ...(access !== 'none' && { kind }),
  }
}

async function recordAcceptance(call: AdminCall, env: AdminEnv) {
  const id = part(call, 'agreement')
  const body = readObject(call.body)
  refuseUnknown(body, ['user', 'client', 'version', 'note'])
  const { user, client, version } = body
  const note = readNote(body.note)
  if ((user === undefined) === (client === undefined))
    throw badBody([{ path: '', text: 'either user or client is needed' }])
  const { holder, digest, language } = await change(env, async (stores, { publish }) => {
    const agreement = await stores.licences.agreements.find(id)
    if (agreement === undefined) throw notFound('agreement', id)
    if (version !== agreement.version)
      throw conflict(`The version of ${id} is ${agreement.version}: only this one can be recorded`)
    const [[tag, text] = ['', '']] = Object.entries(agreement.text).sort()
    const made = {
      holder: await findHolder(user, client, stores),
      digest: createHash('sha256').update(text).digest('hex'),
      language: tag,
    }
    await stores.licences.accept({
      ...{ ...made, agreement: id, version: agreement.version },
      ...{ note, address: undefined, at: env.clock() },
    })
    await publish({ kind: 'licences-changed' })
    return made
  })
  record(env, call, {
    event: 'agreement.accepted',
    target: id,
    details: { holder, version: String(version), digest, language, note },
  })
  return { status: 201, body: { agreement: id, holder, version } }
}

function readNote(note: unknown): string | undefined {
  if (note === undefined || (typeof note === 'string' && note.length <= 512)) return note
  throw badBody([{ path: 'note', text: 'must be a text of up to 512 characters' }])
}

async function findHolder(user: unknown, client: unknown, stores: AdminEnv['stores']): Promise<string> {
  if (client === undefined) return (await findUser(stores, String(user))).id
  const found = await stores.clients.find(String(client))
  if (found === undefined) throw notFound('client', String(client))
  return found.id
}

async function setProfessional(call: AdminCall, env: AdminEnv): Promise<undefined> {
  const body = readObject(call.body)
  refuseUnknown(body, ['professional'])
  const { professional } = body
  if (typeof professional !== 'boolean' && professional !== null)
    throw badBody([{ path: 'professional', text: 'must be true, false or null' }])
  const user = await change(env, async (stores, { publish }) => {
    const { id } = await findUser(stores, part(call, 'user'))
    if (professional === null) await stores.licences.forgetStatus(id)
    else await stores.licences.setStatus(id, { professional, setBy: 'operator' })
    await publish({ kind: 'licences-changed' })
    return id
  })
  record(env, call, {
    event: 'licence.status',
    target: user,
    details: { professional: professional ?? 'undeclared', set_by: 'operator' },
  })
}
