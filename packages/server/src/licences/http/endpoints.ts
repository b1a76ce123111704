/** `/licences`: what the caller may use, agreements that it reads and accepts, and trials that it begins. */
import { opensPlatform, type Principal } from 'gatehouse-protocol'
import type { Context } from '../../http/context.ts'
import { insufficientScope } from '../../http/request/authentication.ts'
import type { Route, RouteGroup } from '../../http/route.ts'
import { acceptedUntil } from '../decide.ts'
import type { Act, OwnLicences } from '../own-licences.ts'
import type { Standing, SubjectFacts } from '../service.ts'
import { badBody, readBody } from './body.ts'

export interface LicenceRoutesEnv {
  readonly own: OwnLicences
  /** The address of this server, for links. */
  readonly issuer: string
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

async function listLicences(context: Context, { own, issuer }: LicenceRoutesEnv): Promise<void> {
  const facts = await own.facts(context.principal)
  const standings = await own.standings(facts)
  context.json({ items: standings.map((standing) => presentStanding(standing, facts, issuer)) })
}

function presentStanding(
  { product, agreement, decision, trial }: Standing,
  { acceptances, subject }: SubjectFacts,
  issuer: string,
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

async function showAgreement(context: Context, { own }: LicenceRoutesEnv): Promise<void> {
  const agreement = await own.findAgreement(context.param('id'))
  const { id, version, title, asksStatus } = agreement
  const { language, text } = own.chooseText(agreement, context.headers['accept-language'])
  context.setHeader('content-language', language)
  context.addVary('accept-language')
  context.json({ Id: id, Version: version, Title: title, AsksStatus: asksStatus, Language: language, Text: text })
}

async function acceptAgreement(context: Context, { own }: LicenceRoutesEnv): Promise<void> {
  const { subject } = await own.facts(context.principal)
  const agreement = await own.findAgreement(context.param('id'))
  const body = readBody(context)
  const professional = body.get('Professional')
  if (professional !== undefined && typeof professional !== 'boolean')
    throw badBody('Professional', 'must be true or false')
  const isCurrent = body.get('Version') === agreement.version
  if (isCurrent && agreement.asksStatus && professional === undefined)
    throw badBody('Professional', 'is needed: whether you use market data as a professional')
  const language = body.get('Language')
  const languages = typeof language === 'string' ? language : (context.headers['accept-language'] ?? '')
  const given = { version: body.get('Version'), professional, languages }
  const accepted = await own.accept(subject, agreement, given, readAct(context))
  context.json(
    { Id: agreement.id, Version: accepted.version, Language: accepted.language, Digest: accepted.digest },
    201,
  )
}

async function beginTrial(context: Context, { own }: LicenceRoutesEnv): Promise<void> {
  const product = context.param('product')
  const { from, until } = await own.beginTrial(await own.facts(context.principal), product, readAct(context))
  context.json({ Product: product, From: instant(from), Until: instant(until) }, 201)
}

function readAct({ principal, address, id: requestId }: Context): Act {
  return { actor: principal.subject, client: principal.clientId, address, requestId }
}

function instant(time: number): string {
  return new Date(time).toISOString()
}
