/** `/licences`: what the caller may use, agreements that it reads and accepts, and trials that it begins. */
import { createHash } from 'node:crypto'
import { type AuditEvent, type Clock, opensPlatform, type Principal, Refusal } from 'gatehouse-protocol'
import type { Context } from '../../http/context.ts'
import { byQuality } from '../../http/request/accept.ts'
import { insufficientScope } from '../../http/request/authentication.ts'
import type { Route, RouteGroup } from '../../http/route.ts'
import type { AuditLog } from '../../store/audit/audit.ts'
import { transactWithEvents } from '../../store/cluster/event-transaction.ts'
import type { RecordedEvent } from '../../store/cluster/events.ts'
import type { Database } from '../../store/database/database.ts'
import type { Agreement, Product } from '../../store/licences/products.ts'
import type { Stores } from '../../store/stores.ts'
import { acceptedUntil } from '../decide.ts'
import type { Licences, Standing, SubjectFacts } from '../service.ts'
import { badBody, readBody } from './body.ts'

export interface LicenceRoutesEnv {
  readonly licences: Licences
  readonly database: Database
  readonly clock: Clock
  readonly audit: Pick<AuditLog, 'append'>
  /** The address of this server, for links. */
  readonly issuer: string
  receive(recorded: RecordedEvent): void
}

const BODY = { limit: 4 * 1024, types: ['application/json'] }

export function licenceGroup(env: LicenceRoutesEnv): RouteGroup {
  const route = (
    method: 'GET' | 'POST',
    path: string,
    handle: (context: Context, env: LicenceRoutesEnv) => Promise<void>,
    body?: Route['body'],
  ): Route => ({
    method,
    path: `/licences${path}`,
    ...(body && { body }),
    access: requirePlatform,
    handle: (context) => handle(context, env),
  })
  return {
    at: ['/licences'],
    limit: 'pages',
    headers: { 'cache-control': 'no-store' },
    routes: [
      route('GET', '', listLicences),
      route('GET', '/agreements/:id', showAgreement),
      route('POST', '/agreements/:id', acceptAgreement, BODY),
      route('POST', '/:product/trial', beginTrial, BODY),
    ],
  }
}

function requirePlatform({ scopes }: Principal): void {
  if (![...scopes].some(opensPlatform)) throw insufficientScope('This needs a scope of the platform')
}

async function listLicences(context: Context, env: LicenceRoutesEnv): Promise<void> {
  const { licences } = env
  const facts = await readFacts(context, env)
  const { products } = await licences.definitions()
  const standings = await licences.standings(facts, [...products.values()])
  context.json({ items: standings.map((standing) => presentStanding(standing, facts, env)) })
}

async function readFacts({ principal }: Context, { licences }: LicenceRoutesEnv): Promise<SubjectFacts> {
  const subject = await licences.subjectOf(principal)
  if (subject === undefined) throw new Refusal('access.invalid_token', 401, 'The user or client exists no longer')
  return licences.facts(subject)
}

function presentStanding(
  { product, agreement, decision, trial }: Standing,
  { acceptances, subject }: SubjectFacts,
  { issuer }: LicenceRoutesEnv,
): object {
  const { access, until, reason } = decision
  const accepted = agreement && acceptedUntil(agreement, acceptances)
  return {
    Product: product.name,
    Access: access,
    ...(access === 'delayed' && { Delay: (product.delay ?? 0) / 1000 }),
    ...(until !== undefined && { Until: instant(until) }),
    Reason: reason,
    ...(agreement && {
      Agreement: {
        Id: agreement.id,
        Version: agreement.version,
        Title: agreement.title,
        Url: `${issuer}/licences/agreements/${agreement.id}`,
        AsksStatus: agreement.asksStatus,
        Accepted: accepted === Infinity,
        ...(accepted !== undefined && accepted > 0 && accepted < Infinity && { Grace: instant(accepted) }),
      },
    }),
    ...(product.trial !== undefined &&
      subject.kind === 'user' && {
        Trial: {
          Days: product.trial / 86_400_000,
          ...(trial && { From: instant(trial.from), Until: instant(trial.until) }),
        },
      }),
  }
}

async function showAgreement(context: Context, { licences }: LicenceRoutesEnv): Promise<void> {
  const agreement = await findAgreement(context, licences)
  const { id, version, title, asksStatus } = agreement
  const { language, text } = chooseText(agreement, context.headers['accept-language'])
  context.setHeader('content-language', language)
  context.addVary('accept-language')
  context.json({ Id: id, Version: version, Title: title, AsksStatus: asksStatus, Language: language, Text: text })
}

async function findAgreement(context: Context, licences: Licences): Promise<Agreement> {
  const id = context.param('id')
  const agreement = (await licences.definitions()).agreements.get(id)
  if (agreement === undefined) throw new Refusal('licence.unknown', 404, `There is no agreement "${id}"`)
  return agreement
}

/** The language that the person prefers, else English, else the first. */
function chooseText({ text }: Agreement, accepted = ''): { readonly language: string; readonly text: string } {
  const known = new Map(Object.entries(text))
  const wanted = [...byQuality(accepted).map(({ value }) => value), 'en']
  const language =
    wanted
      .map((each) => [...known.keys()].find((tag) => tag.toLowerCase() === each || tag === each.split('-')[0]))
      .find((found) => found !== undefined) ?? [...known.keys()].sort()[0]
  return { language: language ?? '', text: known.get(language ?? '') ?? '' }
}

/** The digest in the record says which text was accepted. */
async function acceptAgreement(context: Context, env: LicenceRoutesEnv): Promise<void> {
  const { licences, clock } = env
  const { subject } = await readFacts(context, env)
  if (subject.kind !== 'user')
    throw new Refusal('Auth.UserNeeded', 403, 'People accept agreements; for a client an operator records it')
  const agreement = await findAgreement(context, licences)
  const body = readBody(context)
  const professional = body.get('Professional')
  if (body.get('Version') !== agreement.version)
    throw new Refusal('licence.other_version', 409, `The version is ${agreement.version}: read it before you accept it`)
  if (professional !== undefined && typeof professional !== 'boolean')
    throw badBody('Professional', 'must be true or false')
  if (agreement.asksStatus && professional === undefined)
    throw badBody('Professional', 'is needed: whether you use market data as a professional')
  const language = body.get('Language')
  const { language: tag, text } = chooseText(
    agreement,
    typeof language === 'string' ? language : context.headers['accept-language'],
  )
  const { id, version } = agreement
  const digest = createHash('sha256').update(text).digest('hex')
  const acceptance = { agreement: id, holder: subject.id, version, digest, language: tag, note: undefined, at: clock() }
  await changeLicences(env, async (stores) => {
    const events: AuditEvent[] = []
    if (await stores.accept({ ...acceptance, address: context.address }))
      events.push({
        ...callFacts(context),
        event: 'agreement.accepted',
        target: id,
        details: { holder: subject.id, version, digest, language: tag },
      })
    if (professional !== undefined && (await stores.setStatus(subject.id, { professional, setBy: 'user' })))
      events.push({
        ...callFacts(context),
        event: 'licence.status',
        target: subject.id,
        details: { professional, set_by: 'user' },
      })
    return events
  })
  context.json({ Id: id, Version: version, Language: tag, Digest: digest }, 201)
}

/** Once for each user and product, ever. */
async function beginTrial(context: Context, env: LicenceRoutesEnv): Promise<void> {
  const { licences, clock } = env
  const facts = await readFacts(context, env)
  const { subject } = facts
  const product = await findProduct(context.param('product'), licences)
  if (subject.kind !== 'user') throw new Refusal('Auth.UserNeeded', 403, 'Trials are for people')
  if (product.trial === undefined || !product.enabled)
    throw new Refusal('licence.no_trial', 409, `There is no trial of ${product.name}`)
  const [standing] = await licences.standings(facts, [product])
  const obstacle = (await licences.isDenied(subject, product.name))
    ? `An operator has taken ${product.name} away from you`
    : standing?.decision.access === 'realtime'
      ? `You have real-time access to ${product.name} already`
      : undefined
  if (obstacle !== undefined) throw new Refusal('licence.no_trial', 409, obstacle)
  const from = clock()
  const until = from + product.trial
  await changeLicences(env, async (stores) => {
    if (!(await stores.beginTrial(subject.id, { product: product.name, from, until })))
      throw new Refusal('licence.no_trial', 409, `You have had a trial of ${product.name}`)
    return [{ ...callFacts(context), event: 'licence.trial', target: product.name, details: { until: instant(until) } }]
  })
  context.json({ Product: product.name, From: instant(from), Until: instant(until) }, 201)
}

async function findProduct(name: string, licences: Licences): Promise<Product> {
  const product = (await licences.definitions()).products.get(name)
  if (product === undefined) throw new Refusal('licence.unknown', 404, `There is no product "${name}"`)
  return product
}

/** What is stored, its event for all nodes and its entries of the audit log are one transaction. */
async function changeLicences(
  env: LicenceRoutesEnv,
  work: (stores: Stores['licences']) => Promise<readonly AuditEvent[]>,
): Promise<void> {
  await transactWithEvents(env, async ({ licences }, publish, tx) => {
    const events = await work(licences)
    await publish({ kind: 'licences-changed' })
    if (events.length > 0) await env.audit.append(tx, events)
  })
}

function callFacts({ principal, address, id: requestId }: Context) {
  return { actor: principal.subject, client: principal.clientId, address, requestId }
}

function instant(time: number): string {
  return new Date(time).toISOString()
}
