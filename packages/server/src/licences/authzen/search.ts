/** Searches of the AuthZEN Authorization API 1.0 (§8): who may do something, with what, and what with it. Unknown things have no results. */
import { resourceCoverages } from '../../store/licences/coverage.ts'
import type { Product } from '../../store/licences/products.ts'
import type { Stores } from '../../store/stores.ts'
import { type Licences, type SubjectFacts, toSubject } from '../service.ts'
import { ACCESS_ACTIONS, coveringProducts, findFacts, judge, meets } from './decisions.ts'
import type { Action, Entity, EntityType, PageRequest } from './requests.ts'
import { malformed } from './requests.ts'

export interface SearchEnv {
  readonly licences: Licences
  readonly stores: Pick<Stores, 'users' | 'clients'>
}

export interface Found {
  readonly results: readonly object[]
  /** Where the next page begins; undefined after the last. */
  readonly next: string | undefined
}

/** A page looks at so many subjects: it can be short although there is a next one. */
const MOST_SUBJECTS = 1_000
const READ_AT_ONCE = 200

const NOTHING: Found = { results: [], next: undefined }

export async function searchSubjects(
  { type }: EntityType,
  action: Action,
  resource: Entity,
  { token, limit }: PageRequest,
  { licences, stores }: SearchEnv,
): Promise<Found> {
  if (type !== 'user' && type !== 'client') return NOTHING
  const covering = coveringProducts((await licences.definitions()).products.values(), resource, action, true)
  if (covering.length === 0) return NOTHING
  const results: object[] = []
  let after = token === undefined ? '' : readToken(token)
  for (let looked = 0; looked < MOST_SUBJECTS; ) {
    const read =
      type === 'user' ? await readUsers(after, { licences, stores }) : await readClients(after, { licences, stores })
    for (const [index, facts] of read.entries()) {
      const { name } = facts.subject
      if (judge(facts, await licences.standings(facts, covering), action.name).decision)
        results.push({ type, id: name })
      after = name
      const isLast = index === read.length - 1 && read.length < READ_AT_ONCE
      if (results.length === limit) return { results, next: isLast ? undefined : writeToken(after) }
    }
    if (read.length < READ_AT_ONCE) return { results, next: undefined }
    looked += read.length
  }
  return { results, next: writeToken(after) }
}

async function readUsers(after: string, { licences, stores }: SearchEnv): Promise<SubjectFacts[]> {
  const users = await stores.users.list({ after, limit: READ_AT_ONCE })
  return Promise.all(users.map((user) => licences.facts(toSubject(user))))
}

async function readClients(after: string, { licences, stores }: SearchEnv): Promise<SubjectFacts[]> {
  const ids = await stores.clients.listIds({ after, limit: READ_AT_ONCE })
  const found = await Promise.all(ids.map((id) => findFacts({ type: 'client', id }, licences)))
  return found.filter((facts) => facts !== undefined)
}

/** Products, and those resources of others that a product names: a pattern names none. */
export async function searchResources(
  subject: Entity,
  action: Action,
  wanted: EntityType,
  { token, limit }: PageRequest,
  { licences }: SearchEnv,
): Promise<Found> {
  const facts = await findFacts(subject, licences)
  if (facts === undefined) return NOTHING
  const products = [...(await licences.definitions()).products.values()]
  const candidates = wanted.type === 'product' ? products.map(({ name }) => name) : namedIds(products, wanted, action)
  const standings = new Map(
    (await licences.standings(facts, products)).map((standing) => [standing.product.name, standing]),
  )
  const allowed = candidates.sort().filter((id) => {
    const covering = coveringProducts(products, { ...wanted, id }, action, true)
    const of = covering.flatMap(({ name }) => standings.get(name) ?? [])
    return of.length > 0 && judge(facts, of, action.name).decision
  })
  const start = token === undefined ? 0 : allowed.findIndex((id) => id > readToken(token))
  const page = start < 0 ? [] : allowed.slice(start, start + limit)
  const last = page.at(-1)
  const isComplete = last === undefined || last === allowed.at(-1)
  return { results: page.map((id) => ({ type: wanted.type, id })), next: isComplete ? undefined : writeToken(last) }
}

function namedIds(products: readonly Product[], wanted: EntityType, action: Action): string[] {
  const ids = products.flatMap(({ covers }) =>
    resourceCoverages(covers, wanted.type)
      .filter((coverage) => meets(coverage, wanted, action, true))
      .flatMap(({ ids: named = [] }) => named.filter((id) => !id.includes('*'))),
  )
  return [...new Set(ids)]
}

export async function searchActions(subject: Entity, resource: Entity, { licences }: SearchEnv): Promise<Found> {
  const facts = await findFacts(subject, licences)
  if (facts === undefined) return NOTHING
  const products = [...(await licences.definitions()).products.values()]
  const named = products.flatMap(({ covers }) =>
    resourceCoverages(covers, resource.type).flatMap(({ actions }) => actions),
  )
  const results: object[] = []
  for (const name of [...ACCESS_ACTIONS, ...new Set(named)]) {
    const covering = coveringProducts(products, resource, { name, properties: new Map() }, true)
    if (covering.length === 0) continue
    if (judge(facts, await licences.standings(facts, covering), name).decision) results.push({ name })
  }
  return { results, next: undefined }
}

function writeToken(after: string): string {
  return Buffer.from(after).toString('base64url')
}

function readToken(token: string): string {
  const after = Buffer.from(token, 'base64url').toString()
  if (after === '' || after.includes('\0') || writeToken(after) !== token)
    throw malformed('page.token must be that of the previous page')
  return after
}
