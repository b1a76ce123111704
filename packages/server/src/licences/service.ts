/** Who may use what of a product now: the definitions of this moment, and decisions on users and clients. */
import type { Clock, Principal } from 'gatehouse-protocol'
import type { Bus } from '../events/bus.ts'
import { USER_ID_PREFIX, type User } from '../store/accounts/user.ts'
import type { Holder } from '../store/licences/entitlements.ts'
import type { Acceptance, LicenceStatus, Trial } from '../store/licences/licences.ts'
import type { Agreement, Product } from '../store/licences/products.ts'
import type { Stores } from '../store/stores.ts'
import { type Decision, decide, nextChange } from './decide.ts'

export type Licences = ReturnType<typeof openLicences>

export interface LicencesEnv {
  readonly stores: Pick<Stores, 'licences' | 'users' | 'clients'>
  readonly bus: Pick<Bus, 'subscribe'>
  readonly clock: Clock
}

/** A user or client with what decides. */
export interface Subject extends Holder {
  readonly name: string
  readonly isDisabled: boolean
}

/** A subject with all that is stored of it. */
export interface SubjectFacts {
  readonly subject: Subject
  readonly acceptances: readonly Acceptance[]
  readonly trials: readonly Trial[]
  readonly status: LicenceStatus | undefined
}

export interface Standing {
  readonly product: Product
  readonly agreement: Agreement | undefined
  readonly decision: Decision
  readonly trial: Trial | undefined
  /** Milliseconds: when the decision may be another one although nothing is changed; Infinity if never. */
  readonly changesAt: number
}

/** What the report and decisions call it. */
export type StatusName = 'professional' | 'non_professional' | 'undeclared'

interface Definitions {
  /** By name, in its order. */
  readonly products: ReadonlyMap<string, Product>
  readonly agreements: ReadonlyMap<string, Agreement>
}

export function openLicences({ stores: { licences, users, clients }, bus, clock }: LicencesEnv) {
  let definitions: Promise<Definitions> | undefined
  const unsubscribe = bus.subscribe(({ kind }) => {
    if (kind === 'licences-changed') definitions = undefined
  })

  /** Those of this moment: a read that a change has overtaken is not kept. */
  function read(): Promise<Definitions> {
    if (definitions !== undefined) return definitions
    const reading = readDefinitions(licences)
    definitions = reading
    reading.catch(() => {
      if (definitions === reading) definitions = undefined
    })
    return reading
  }

  return {
    definitions: read,

    /** The user of a token, else its client. */
    subjectOf({
      kind,
      subject,
      clientId,
    }: Pick<Principal, 'kind' | 'subject' | 'clientId'>): Promise<Subject | undefined> {
      return kind === 'user' ? findUser(subject) : findClient(clientId)
    },

    /** By id or name. */
    async find(kind: Subject['kind'], name: string): Promise<Subject | undefined> {
      if (kind === 'client') return findClient(name)
      // No username begins with it.
      if (name.startsWith(USER_ID_PREFIX)) return findUser(name)
      const user = await users.findByUsername(name)
      return user && toSubject(user)
    },

    async facts(subject: Subject): Promise<SubjectFacts> {
      const [acceptances, trials, status] = await Promise.all([
        licences.acceptances(subject.id),
        subject.kind === 'user' ? licences.trials(subject.id) : [],
        subject.kind === 'user' ? licences.status(subject.id) : undefined,
      ])
      return { subject, acceptances, trials, status }
    },

    /** One decision for each of the products, in their order. */
    async standings({ subject, acceptances, trials }: SubjectFacts, products: readonly Product[]): Promise<Standing[]> {
      const { agreements } = await read()
      const [only] = products.length === 1 ? products : []
      const held = Map.groupBy(await licences.entitlements.heldBy(subject, only?.name), ({ product }) => product)
      const now = clock()
      return products.map((product) => {
        const agreement = agreements.get(product.agreement ?? '')
        const trial = trials.find((each) => each.product === product.name)
        const { isDisabled } = subject
        const facts = { product, agreement, trial, acceptances, isDisabled, now, held: held.get(product.name) ?? [] }
        return { product, agreement, trial, decision: decide(facts), changesAt: nextChange(facts) }
      })
    },

    /** Whether an operator has denied the product to this user or client by name. */
    async isDenied(subject: Subject, product: string): Promise<boolean> {
      const now = clock()
      const own = (await licences.entitlements.heldBy(subject, product)).filter(
        ({ level, from = 0, until = Infinity }) => level === subject.kind && from <= now && now < until,
      )
      return own.length > 0 && own.every(({ access }) => access === 'none')
    },

    close: unsubscribe,
  }

  async function findUser(id: string): Promise<Subject | undefined> {
    const user = await users.findById(id)
    return user && toSubject(user)
  }

  async function findClient(id: string): Promise<Subject | undefined> {
    const client = await clients.find(id)
    return (
      client && { kind: 'client', id, name: id, roles: [], attributes: client.attributes, isDisabled: client.disabled }
    )
  }
}

export function toSubject({ id, username, roles, attributes, disabled }: User): Subject {
  return { kind: 'user', id, name: username, roles, attributes, isDisabled: disabled }
}

export function statusName(status: LicenceStatus | undefined): StatusName {
  if (status === undefined) return 'undeclared'
  return status.professional ? 'professional' : 'non_professional'
}

async function readDefinitions({ products, agreements }: LicencesEnv['stores']['licences']): Promise<Definitions> {
  const [all, texts] = await Promise.all([products.list(), agreements.list()])
  return {
    products: new Map(all.map((product) => [product.name, product])),
    agreements: new Map(texts.map((agreement) => [agreement.id, agreement])),
  }
}

/** For one answer: it reads the definitions itself, and is told of no change. */
export function licencesNow(env: Omit<LicencesEnv, 'bus'>): Licences {
  return openLicences({ ...env, bus: { subscribe: () => () => {} } })
}
