/** The pages of the device flow (RFC 8628 §3.3): the user enters the code, sees the request and decides. */
import { errorSummary, type FormError, field, permissionForm, postForm } from './form-parts.ts'
import { type Html, html } from './html.ts'
import { icon } from './icons.ts'
import { type PageFrame, page } from './layout.ts'

export interface DeviceCodeData {
  readonly userCode: string | undefined
  readonly formError: FormError | undefined
}

export function deviceCodePage(frame: PageFrame, data: DeviceCodeData): Html {
  const { messages } = frame.language
  const body = html`
<h1>${messages.device}</h1>
<p class="lead">${messages.deviceLead}</p>
${errorSummary(frame, data.formError)}
${postForm(
  frame,
  'device',
  '/device',
  {},
  html`${field({ name: 'user_code', label: messages.userCode, hint: messages.userCodeHint, value: data.userCode ?? '', autocomplete: 'off', plainText: true, code: true, required: true, focus: true, maxlength: 40, error: data.formError?.text })}
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

/** RFC 8628 §5.4: the user must be able to recognise here that an attacker sent the code. */
export function deviceConfirmPage(frame: PageFrame, data: DeviceConfirmData): Html {
  const { messages } = frame.language
  const body = html`
<h1>${messages.deviceConfirm(data.client)}</h1>
<p class="lead">${messages.deviceConfirmLead}</p>
<p class="usercode" id="user-code">${data.userCode}</p>
${permissionForm(frame, data, { name: 'device-confirm', path: '/device/decision', ids: 'device', values: { user_code: data.userCode } })}`
  return page(frame, { title: messages.deviceConfirm(data.client), body })
}

export function deviceDonePage(frame: PageFrame, decision: 'allow' | 'deny'): Html {
  const { base, language } = frame
  const { messages } = language
  const isAllowed = decision === 'allow'
  const title = isAllowed ? messages.deviceApproved : messages.deviceDenied
  const body = html`
<div class="state${!isAllowed && html` warn`}">${icon(isAllowed ? 'check' : 'alert')}</div>
<h1>${title}</h1>
<p class="lead">${isAllowed ? messages.deviceApprovedLead : messages.deviceDeniedLead}</p>
<div class="actions">${isAllowed ? html`<a class="button plain" href="${base}/account/applications">${messages.toApplications}</a>` : html`<a class="button plain" href="${base}/device">${messages.deviceAgain}</a>`}
<a class="button plain" href="${base}/">${messages.toStart}</a></div>`
  return page(frame, { title, body })
}
