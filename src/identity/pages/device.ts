/** RFC 8628 §3.3: a person types the code of a device, sees who asks for what, and decides. */
import { errorSummary, field, type Mistake, ownForm, scopeList, who } from './form-parts.ts'
import { type Html, html } from './html.ts'
import { type Frame, page } from './layout.ts'

export interface DeviceCodeData {
  readonly userCode: string | undefined
  readonly mistake: Mistake | undefined
}

export function deviceCodePage(frame: Frame, data: DeviceCodeData): Html {
  const { messages } = frame.language
  const body = html`
<h1>${messages.device}</h1>
<p class="lead">${messages.deviceLead}</p>
${errorSummary(frame, data.mistake)}
${ownForm(
  frame,
  'device',
  '/device',
  {},
  html`${field({ name: 'user_code', label: messages.userCode, hint: messages.userCodeHint, value: data.userCode ?? '', autocomplete: 'off', plainText: true, code: true, required: true, focus: true, maxlength: 40, error: data.mistake?.text })}
<div class="actions"><button type="submit" id="device-submit">${messages.continue}</button></div>`,
)}`
  return page(frame, { title: messages.device, body })
}

export interface DeviceConfirmData {
  readonly userCode: string
  readonly client: string
  readonly username: string
  readonly scopes: readonly string[]
}

/** RFC 8628 §5.4: a code that came by mail from a stranger must be recognised as such here. */
export function deviceConfirmPage(frame: Frame, data: DeviceConfirmData): Html {
  const { messages } = frame.language
  const body = html`
<h1>${messages.deviceConfirm(data.client)}</h1>
<p class="lead">${messages.deviceConfirmLead}</p>
<p class="usercode" id="user-code">${data.userCode}</p>
${who(messages.signedInAs(data.username), data.username)}
<p>${messages.consentLead}</p>
${scopeList(frame, data.scopes)}
${ownForm(
  frame,
  'device-confirm',
  '/device/decision',
  { user_code: data.userCode, scope: data.scopes.join(' ') },
  html`<div class="actions">
<button type="submit" id="device-allow" name="decision" value="allow">${messages.allow}</button>
<button type="submit" class="plain" id="device-deny" name="decision" value="deny">${messages.deny}</button>
</div>`,
)}`
  return page(frame, { title: messages.deviceConfirm(data.client), body })
}

export function deviceDonePage(frame: Frame, decision: 'allow' | 'deny'): Html {
  const { messages } = frame.language
  const title = decision === 'allow' ? messages.deviceApproved : messages.deviceDenied
  const lead = decision === 'allow' ? messages.deviceApprovedLead : messages.deviceDeniedLead
  return page(frame, { title, body: html`<h1>${title}</h1><p class="lead">${lead}</p>` })
}
