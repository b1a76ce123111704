/** The consent page, and the page to choose an account. */
import { permissionForm, postForm } from './form-parts.ts'
import { type Html, html } from './html.ts'
import { type PageFrame, page } from './layout.ts'

export interface ConsentData {
  readonly flow: string
  readonly client: string
  readonly username: string
  readonly scopes: readonly string[]
  /** The host of the redirect URI, the part of it that people recognise. */
  readonly returnsTo: string
}

export function consentPage(frame: PageFrame, data: ConsentData): Html {
  const { messages } = frame.language
  const body = html`
<h1>${messages.consent(data.client)}</h1>
<p class="lead">${messages.consentGoesTo(data.returnsTo)}</p>
${permissionForm(frame, data, { name: 'consent', path: '/consent', ids: 'consent', values: { flow: data.flow } })}
<p class="hint secondary">${messages.consentWithdraw}</p>`
  return page(frame, { title: messages.consent(data.client), body })
}

export interface ChooseAccountData {
  readonly flow: string
  readonly client: string | undefined
  readonly username: string
}

export function chooseAccountPage(frame: PageFrame, data: ChooseAccountData): Html {
  const { messages } = frame.language
  const body = html`
<h1>${messages.chooseAccount}</h1>
<p class="lead">${data.client === undefined ? messages.signInHere : messages.signInTo(data.client)}</p>
${postForm(
  frame,
  'choose-account',
  '/choose-account',
  { flow: data.flow },
  html`<div class="actions">
<button type="submit" id="choose-account-continue" name="decision" value="continue">${messages.continueAs(data.username)}</button>
<button type="submit" class="plain" id="choose-account-other" name="decision" value="other">${messages.useOther}</button>
</div>`,
)}`
  return page(frame, { title: messages.chooseAccount, body })
}
