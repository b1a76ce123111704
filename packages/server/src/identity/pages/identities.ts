/** The pages about accounts at other providers: the section of the account page, the confirmation of a link, a trial sign-in. */
import { hidden, postForm, signedInUser } from './form-parts.ts'
import { fill, type Html, html } from './html.ts'
import { type PageFrame, page } from './layout.ts'
import type { Messages } from './messages/en.ts'
import { date } from './times.ts'

/** What people read about an error of a sign-in through another provider; undefined for other errors. */
export function providerErrorText(
  { providerError }: Messages,
  code: string,
): Messages['providerError'][string] | undefined {
  return Object.hasOwn(providerError, code) ? providerError[code] : undefined
}

export interface IdentitiesData {
  readonly identities: readonly {
    readonly id: string
    readonly provider: { readonly id: string; readonly name: string }
    readonly label: string
    readonly addedAt: number
  }[]
  /** Providers where the person can link an account. */
  readonly providers: readonly { readonly id: string; readonly name: string }[]
  readonly timeZone: string | undefined
}

/** Nothing where there is neither a provider nor an identity. */
export function identitiesCard(frame: PageFrame, { identities, providers, timeZone }: IdentitiesData): Html {
  const { base, formToken, language } = frame
  const { messages } = language
  if (identities.length === 0 && providers.length === 0) return html``
  const rows = identities.map(
    ({ id, provider, label, addedAt }) => html`<li><div><p>${label}</p>
<p class="quiet">${provider.name} · ${fill(messages.added, date(frame, addedAt, timeZone))}</p></div>
<a class="button danger small" href="${base}/external/${encodeURIComponent(provider.id)}/unlink?identity=${encodeURIComponent(id)}" aria-label="${messages.unlinkNamed(label)}">${messages.unlink}</a></li>`,
  )
  const forms = providers.map(
    ({ id, name }) =>
      html`<form method="post" action="${base}/external/${encodeURIComponent(id)}/link">${hidden({ form_token: formToken })}<button type="submit" class="plain small">${messages.linkWith(name)}</button></form>`,
  )
  return html`<section class="card" id="identities" aria-labelledby="identities-title"><h2 id="identities-title">${messages.identities}</h2>
<p class="quiet">${messages.identitiesLead}</p>
${rows.length === 0 ? html`<p class="empty">${messages.noIdentities}</p>` : html`<ul class="rows">${rows}</ul>`}
<div class="inline">${forms}</div></section>`
}

export interface LinkData {
  readonly flow: string
  readonly provider: { readonly id: string; readonly name: string }
  readonly label: string
  readonly username: string
}

export function linkPage(frame: PageFrame, { flow, provider, label, username }: LinkData): Html {
  const { messages } = frame.language
  const title = messages.linkAsk(provider.name)
  const body = html`
<h1>${title}</h1>
<p class="lead">${messages.linkLead(label, username)}</p>
${signedInUser(messages.signedInAs(username), username)}
${postForm(
  frame,
  'link',
  `/external/${encodeURIComponent(provider.id)}/confirm`,
  { flow },
  html`<div class="actions">
<button type="submit" id="link-confirm" name="decision" value="link">${messages.link}</button>
<button type="submit" class="plain" id="link-refuse" name="decision" value="refuse">${messages.doNotLink}</button>
</div>`,
)}`
  return page(frame, { title, body })
}

export interface TrialData {
  readonly id: string
  readonly provider: string
  /** The user, or the code of the page that the person would see. */
  readonly outcome: { readonly username: string; readonly isNew: boolean } | { readonly code: string }
  readonly roles: readonly string[]
  readonly attributes: readonly { readonly name: string; readonly values: readonly string[] }[]
  readonly isMultiFactor: boolean
  /** JSON. */
  readonly claims: string
}

export function trialPage(frame: PageFrame, data: TrialData): Html {
  const { messages } = frame.language
  const { outcome } = data
  const title = messages.trial(data.provider)
  const who =
    'code' in outcome
      ? html`${providerErrorText(messages, outcome.code)?.title ?? ''} (<code id="trial-code">${outcome.code}</code>)`
      : html`<span id="trial-user">${outcome.isNew ? messages.trialCreate(outcome.username) : messages.trialUser(outcome.username)}</span>`
  const attributes = data.attributes.map(({ name, values }) => `${name}: ${values.join(', ') || messages.trialNone}`)
  const body = html`
<h1>${title}</h1>
<p class="lead">${messages.trialLead}</p>
<dl class="facts">
<dt>${messages.trialWho}</dt><dd>${who}</dd>
<dt>${messages.trialRoles}</dt><dd id="trial-roles">${data.roles.join(', ') || messages.trialNone}</dd>
<dt>${messages.trialAttributes}</dt><dd id="trial-attributes">${attributes.join('; ') || messages.trialNone}</dd>
<dt>${messages.trialFactors}</dt><dd>${data.isMultiFactor ? messages.trialYes : messages.trialNo}</dd>
</dl>
<h2>${messages.trialClaims}</h2>
<pre id="trial-claims" tabindex="0"><code>${data.claims}</code></pre>
<div class="actions"><a class="button plain" id="trial-back" href="${frame.base}/console/people/providers/${encodeURIComponent(data.id)}">${messages.trialBack}</a></div>`
  return page(frame, { title, body })
}
