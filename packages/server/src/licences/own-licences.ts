/** What a user or client has of products, and what people do about it themselves: accept agreements, declare their status, begin trials. */
import { createHash } from 'node:crypto'
import { type AuditEvent, type Clock, type Principal, Refusal } from 'gatehouse-protocol'
import { byQuality } from '../http/request/accept.ts'
import type { AuditLog } from '../store/audit/audit.ts'
import { transactWithEvents } from '../store/cluster/event-transaction.ts'
import type { RecordedEvent } from '../store/cluster/events.ts'
import type { Database } from '../store/database/database.ts'
import { createPlaces } from '../store/licences/places.ts'
import type { Agreement, Product } from '../store/licences/products.ts'
import type { Stores } from '../store/stores.ts'
import { acceptedUntil } from './decide.ts'
import { placeDigest } from './places.ts'
import type { Licences, Standing, Subject, SubjectFacts } from './service.ts'

export interface OwnLicencesEnv {
  readonly licences: Licences
  readonly database: Database
  readonly clock: Clock
  readonly audit: Pick<AuditLog, 'append'>
  receive(recorded: RecordedEvent): void
}

/** Who acts, for the audit log. */
export interface Act {
  readonly actor: string
  readonly client: string
  readonly address: string
  readonly requestId: string
}

export interface AcceptedText {
  readonly version: string
  readonly language: string
  readonly digest: string
}

export interface HeldPlaceNow {
  readonly product: string
  readonly access: 'delayed' | 'realtime'
  /** Milliseconds. */
  readonly since: number
  /** Whether it is that of the session. */
  readonly isOwn: boolean
}

export type OwnLicences = ReturnType<typeof openOwnLicences>

export function openOwnLicences(env: OwnLicencesEnv) {
  const { licences, database, clock } = env
  return {
    async facts(principal: Pick<Principal, 'kind' | 'subject' | 'clientId'>): Promise<SubjectFacts> {
      const subject = await licences.subjectOf(principal)
      if (subject === undefined) throw new Refusal('access.invalid_token', 401, 'The user or client exists no longer')
      return licences.facts(subject)
    },

    async standings(facts: SubjectFacts): Promise<Standing[]> {
      const { products } = await licences.definitions()
      return licences.standings(facts, [...products.values()])
    },

    async findAgreement(id: string): Promise<Agreement> {
      const agreement = (await licences.definitions()).agreements.get(id)
      if (agreement === undefined) throw new Refusal('licence.unknown', 404, `There is no agreement "${id}"`)
      return agreement
    },

    chooseText,

    /** The current version. */
    hasAccepted: (agreement: Agreement, { acceptances }: Pick<SubjectFacts, 'acceptances'>): boolean =>
      acceptedUntil(agreement, acceptances) === Infinity,

    /** The places of a subject, on all nodes; `sessionId` is that of the browser that asks. */
    async places({ subject: { kind, id } }: Pick<SubjectFacts, 'subject'>, sessionId: string): Promise<HeldPlaceNow[]> {
      const holder = `${kind}:${id}`
      const own = placeDigest(holder, `session ${sessionId}`)
      const held = await createPlaces(database.db).heldBy(holder, clock())
      return held.map(({ product, access, taken_at: since, place }) => ({
        product,
        access,
        since,
        isOwn: place === own,
      }))
    },

    /** The digest in the record says which text was accepted. Throws if it is not the current version. */
    async accept(
      subject: Pick<Subject, 'kind' | 'id'>,
      agreement: Agreement,
      given: { readonly version: unknown; readonly professional: boolean | undefined; readonly languages: string },
      act: Act,
    ): Promise<AcceptedText> {
      if (subject.kind !== 'user')
        throw new Refusal('Auth.UserNeeded', 403, 'People accept agreements; for a client an operator records it')
      const { id, version } = agreement
      if (given.version !== version)
        throw new Refusal('licence.other_version', 409, `The version is ${version}: read it before you accept it`)
      const { professional } = given
      const { language, text } = chooseText(agreement, given.languages)
      const digest = createHash('sha256').update(text).digest('hex')
      const acceptance = { agreement: id, holder: subject.id, version, digest, language, note: undefined, at: clock() }
      await changeLicences(env, async (stores) => {
        const events: AuditEvent[] = []
        if (await stores.accept({ ...acceptance, address: act.address }))
          events.push({
            ...act,
            event: 'agreement.accepted',
            target: id,
            details: { holder: subject.id, version, digest, language },
          })
        if (professional !== undefined && (await stores.setStatus(subject.id, { professional, setBy: 'user' })))
          events.push({
            ...act,
            event: 'licence.status',
            target: subject.id,
            details: { professional, set_by: 'user' },
          })
        return events
      })
      return { version, language, digest }
    },

    /** Once for each user and product, ever. */
    async beginTrial(facts: SubjectFacts, name: string, act: Act): Promise<{ from: number; until: number }> {
      const { subject } = facts
      const product = (await licences.definitions()).products.get(name)
      if (product === undefined) throw new Refusal('licence.unknown', 404, `There is no product "${name}"`)
      if (subject.kind !== 'user') throw new Refusal('Auth.UserNeeded', 403, 'Trials are for people')
      if (product.trial === undefined || !product.enabled)
        throw new Refusal('licence.no_trial', 409, `There is no trial of ${product.name}`)
      const obstacle = await findObstacle(facts, product)
      if (obstacle !== undefined) throw new Refusal('licence.no_trial', 409, obstacle)
      const from = clock()
      const until = from + product.trial
      await changeLicences(env, async (stores) => {
        if (!(await stores.beginTrial(subject.id, { product: product.name, from, until })))
          throw new Refusal('licence.no_trial', 409, `You have had a trial of ${product.name}`)
        const details = { until: new Date(until).toISOString() }
        return [{ ...act, event: 'licence.trial', target: product.name, details }]
      })
      return { from, until }
    },
  }

  async function findObstacle(facts: SubjectFacts, product: Product): Promise<string | undefined> {
    if (await licences.isDenied(facts.subject, product.name))
      return `An operator has taken ${product.name} away from you`
    const [standing] = await licences.standings(facts, [product])
    return standing?.decision.access === 'realtime' ? `You have real-time access to ${product.name} already` : undefined
  }
}

/** The language that the person prefers (Accept-Language), else English, else the first. */
function chooseText({ text }: Agreement, accepted = ''): { readonly language: string; readonly text: string } {
  const known = new Map(Object.entries(text))
  const wanted = [...byQuality(accepted).map(({ value }) => value), 'en']
  const language =
    wanted
      .map((each) => [...known.keys()].find((tag) => tag.toLowerCase() === each || tag === each.split('-')[0]))
      .find((found) => found !== undefined) ?? [...known.keys()].sort()[0]
  return { language: language ?? '', text: known.get(language ?? '') ?? '' }
}

/** What is stored, its event for all nodes and its entries of the audit log are one transaction. */
async function changeLicences(
  env: OwnLicencesEnv,
  work: (stores: Stores['licences']) => Promise<readonly AuditEvent[]>,
): Promise<void> {
  await transactWithEvents(env, async ({ licences }, publish, tx) => {
    const events = await work(licences)
    await publish({ kind: 'licences-changed' })
    if (events.length > 0) await env.audit.append(tx, events)
  })
}
