/** The section about market data: what a person has of each product, agreements to read and accept, trials, places in use. */
import type { FormParameters } from '../../../http/request/body.ts'
import type { Route } from '../../../http/route.ts'
import type { OwnAct, OwnAgreement, Person } from '../../own-licences.ts'
import { agreementPage, dataSection } from '../../pages/market-data.ts'
import type { SignedInBrowser } from '../browser-context.ts'
import type { BrowserEnv } from '../env.ts'
import { type FormErrorIn, frameFor, sendPage } from '../page-reply.ts'
import { accountFormRoute, askRoute, ownPageRoute, redirectDone, sendSection, userZone } from './account.ts'

export function accountDataRoutes(env: BrowserEnv): readonly Route[] {
  return [
    ownPageRoute({ name: 'data' }, showData, env),
    askRoute('/account/data/agreement', 'data', showAgreement, env),
    accountFormRoute('/account/data/agreement', accept, env),
    accountFormRoute('/account/data/trial', beginTrial, env),
  ]
}

async function showData(
  context: SignedInBrowser,
  query: FormParameters,
  env: BrowserEnv,
  error?: FormErrorIn,
): Promise<void> {
  const own = await env.licences.list(person(context))
  const body = { ...own, timeZone: userZone(context) }
  return sendSection(context, 'data', (frame) => dataSection(frame, body), { query, error }, env)
}

async function showAgreement(context: SignedInBrowser, query: FormParameters, env: BrowserEnv): Promise<void> {
  const agreement = await findAgreement(context, query.get('id'), env)
  if (agreement === undefined) return context.http.redirect(`${env.pages.base}/account/data`)
  sendAgreement(context, agreement, env)
}

function sendAgreement(context: SignedInBrowser, agreement: OwnAgreement, env: BrowserEnv, error?: FormErrorIn): void {
  const frame = frameFor(env.pages, context, { boundTo: 'session' })
  const formError = error?.(frame.language.messages)
  const page = agreementPage(frame, { agreement, formError })
  sendPage(context.http, page, { status: formError === undefined ? 200 : 400, scripts: "'self'" })
}

async function accept(context: SignedInBrowser, form: FormParameters, env: BrowserEnv): Promise<void> {
  const id = form.get('id') ?? ''
  const professional = new Map([
    ['yes', true],
    ['no', false],
  ]).get(form.get('professional') ?? '')
  // The text that the person has read is the one that counts.
  const given = { version: form.get('version') ?? '', professional, languages: form.get('language') ?? '' }
  const outcome = await env.licences.accept(person(context), id, given, act(context))
  if (outcome === 'accepted') return redirectDone(context, 'data', 'accepted', env)
  const agreement = await findAgreement(context, id, env)
  if (agreement === undefined) return context.http.redirect(`${env.pages.base}/account/data`)
  sendAgreement(context, agreement, env, ({ data }) =>
    outcome === 'status is missing'
      ? { text: data.statusMissing, field: 'professional-yes' }
      : { text: data.newVersion },
  )
}

async function beginTrial(context: SignedInBrowser, form: FormParameters, env: BrowserEnv): Promise<void> {
  if (await env.licences.beginTrial(person(context), form.get('product') ?? '', act(context)))
    return redirectDone(context, 'data', 'trial', env)
  return showData(context, form, env, ({ data }) => ({ text: data.noTrial }))
}

function findAgreement(
  context: SignedInBrowser,
  id: string | undefined,
  env: BrowserEnv,
): Promise<OwnAgreement | undefined> {
  const { tag } = frameFor(env.pages, context, { boundTo: 'session' }).language
  return env.licences.agreement(person(context), id ?? '', tag)
}

function person({ user, session }: SignedInBrowser): Person {
  return { userId: user.id, sessionId: session.id }
}

function act({ http }: SignedInBrowser): OwnAct {
  return { client: '', address: http.address, requestId: http.id }
}
