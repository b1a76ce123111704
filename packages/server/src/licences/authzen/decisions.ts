/** Decisions on what subjects may do with products and with the resources that products cover. */
import { type ResourceCoverage, resourceCoverages } from '../../store/licences/coverage.ts'
import type { Product } from '../../store/licences/products.ts'
import { isAtLeast } from '../decide.ts'
import { type Licences, type Standing, type Subject, type SubjectFacts, statusName } from '../service.ts'
import type { Action, Entity, EntityType, Evaluation, Properties } from './requests.ts'

export interface Verdict {
  readonly decision: boolean
  /** Absent where nothing is known of the subject or the resource. */
  readonly context?: object
}

/** The actions that every product allows. */
export const ACCESS_ACTIONS: readonly string[] = ['realtime', 'delayed']

const UNKNOWN: Verdict = { decision: false }

export async function evaluate(
  { subject, action, resource }: Evaluation,
  licences: Licences,
  known: SubjectMemory = new Map(),
): Promise<Verdict> {
  const facts = await findFacts(subject, licences, known)
  if (facts === undefined) return UNKNOWN
  const { products } = await licences.definitions()
  const covering = coveringProducts(products.values(), resource, action)
  return covering.length === 0 ? UNKNOWN : judge(facts, await licences.standings(facts, covering), action.name)
}

/** The subjects of one request: each is read once. */
export type SubjectMemory = Map<string, Promise<SubjectFacts | undefined>>

export function findFacts(
  { type, id }: Pick<Entity, 'type' | 'id'>,
  licences: Licences,
  known: SubjectMemory = new Map(),
): Promise<SubjectFacts | undefined> {
  if (type !== 'user' && type !== 'client') return Promise.resolve(undefined)
  const key = `${type}\0${id}`
  const reading = known.get(key) ?? readFacts(type, id, licences)
  known.set(key, reading)
  return reading
}

async function readFacts(kind: Subject['kind'], id: string, licences: Licences): Promise<SubjectFacts | undefined> {
  // No name has it, and PostgreSQL refuses it.
  const subject = id.includes('\0') || !id.isWellFormed() ? undefined : await licences.find(kind, id)
  return subject && licences.facts(subject)
}

/** The highest access of the products decides: what several cover, any of them opens. */
export function judge({ status }: SubjectFacts, standings: readonly Standing[], action: string): Verdict {
  const wanted = action === 'delayed' ? 'delayed' : 'realtime'
  const best = standings.reduce((one, other) => (isAtLeast(one.decision.access, other.decision.access) ? one : other))
  const { access, until, reason } = best.decision
  return {
    decision: isAtLeast(access, wanted),
    context: {
      access,
      delay: access === 'delayed' ? (best.product.delay ?? 0) / 1000 : 0,
      ...(until !== undefined && { until: new Date(until).toISOString() }),
      status: statusName(status),
      reason,
    },
  }
}

/** Those that cover the resource for the action. In a search an absent property has any value. */
export function coveringProducts(
  products: Iterable<Product>,
  resource: Entity,
  action: Action,
  isSearch = false,
): Product[] {
  const isAccess = ACCESS_ACTIONS.includes(action.name)
  return [...products].filter(({ name, covers }) =>
    resource.type === 'product'
      ? name === resource.id && isAccess
      : resourceCoverages(covers, resource.type).some(
          (coverage) =>
            (isAccess || coverage.actions.includes(action.name)) &&
            matchesId(coverage, resource.id) &&
            meets(coverage, resource, action, isSearch),
        ),
  )
}

/** Whether the properties have the values of `where`. */
export function meets(
  { where }: ResourceCoverage,
  resource: EntityType,
  action: Action | undefined,
  isSearch: boolean,
): boolean {
  return Object.entries(where).every(([name, values]) => {
    const value = name.startsWith('action.')
      ? readProperty(action?.properties, name.slice('action.'.length))
      : readProperty(resource.properties, name)
    return value === undefined ? isSearch : values.some((each) => each === value)
  })
}

function readProperty(properties: Properties | undefined, name: string): unknown {
  return properties?.get(name)
}

function matchesId({ ids }: ResourceCoverage, id: string): boolean {
  return ids === undefined || ids.some((pattern) => matchesPattern(pattern, id))
}

/** `*` stands for any characters. In linear time: each part is looked for once, after the one before. */
export function matchesPattern(pattern: string, text: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return pattern === text
  if (!text.startsWith(first)) return false
  let at = first.length
  for (const part of rest) {
    const found = text.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return text.length - last.length >= at && text.endsWith(last)
}
