/** The frame of the account pages: who is signed in, the sections, and what happened. */
import { avatar, errorSummary, type FormError, hidden, notice, passwordField, postForm } from './form-parts.ts'
import { type Html, html } from './html.ts'
import { type IconName, icon } from './icons.ts'
import { type PageFrame, page, sitePage } from './layout.ts'

export const SECTIONS = {
  profile: { path: '/account', icon: 'person' },
  security: { path: '/account/security', icon: 'lock' },
  sessions: { path: '/account/sessions', icon: 'devices' },
  applications: { path: '/account/applications', icon: 'grid' },
  data: { path: '/account/data', icon: 'chart' },
} as const satisfies Readonly<Record<string, { readonly path: string; readonly icon: IconName }>>

export type Section = keyof typeof SECTIONS

export interface AccountData {
  readonly section: Section
  /** Whether there are products of market data. */
  readonly hasProducts: boolean
  readonly username: string
  /** The name, or the username again. */
  readonly displayName: string
  readonly notice: string | undefined
  readonly formError: FormError | undefined
  /** The cards of the section. */
  readonly body: Html
}

export function accountPage(frame: PageFrame, data: AccountData): Html {
  const { messages } = frame.language
  const title = messages.section[data.section]
  const { username, displayName } = data
  const body = html`<div class="columns">
<nav class="side" aria-label="${messages.account}">
<p class="who">${avatar(displayName)}<span><strong>${displayName}</strong>${displayName !== username && html`<span class="quiet">${username}</span>`}</span></p>
<ul>${Object.entries(SECTIONS)
    .filter(([name]) => name !== 'data' || data.hasProducts)
    .map(sectionLink)}</ul>
</nav>
<main class="content" id="content">
<h1>${title}</h1>
<p class="lead">${messages.sectionLead[data.section]}</p>
${notice(data.notice)}${errorSummary(frame, data.formError)}
${data.body}
</main>
</div>`
  return sitePage(frame, { title: `${title} · ${messages.account}`, place: 'account', tools: signOut(frame), body })

  function sectionLink([name, { path, icon: drawing }]: [string, (typeof SECTIONS)[Section]]): Html {
    const section = name as Section
    return html`<li><a href="${frame.base}${path}"${section === data.section && html` aria-current="page"`}>${icon(drawing)}<span>${messages.section[section]}</span></a></li>`
  }
}

function signOut({ base, formToken, language }: PageFrame): Html {
  return html`<form id="account-sign-out" name="account-sign-out" method="post" action="${base}/account/sign-out">${hidden({ form_token: formToken })}<button type="submit" class="plain small" id="account-sign-out-submit">${language.messages.signOut}</button></form>`
}

export interface PasswordData {
  readonly username: string
  readonly leastPassword: number
  readonly formError: FormError | undefined
}

/** A separate page, so that password managers do not take the account page for a sign-in form. */
export function passwordPage(frame: PageFrame, data: PasswordData): Html {
  const { messages } = frame.language
  const fieldError = (name: string) => (data.formError?.field === name ? data.formError.text : undefined)
  const body = html`
<h1>${messages.changePassword}</h1>
<p class="lead">${messages.changePasswordLead}</p>
${errorSummary(frame, data.formError)}
${postForm(
  frame,
  'password-change',
  '/account/password',
  {},
  html`<input type="text" name="username" value="${data.username}" autocomplete="username" hidden>
${passwordField(frame, { name: 'current_password', label: messages.currentPassword, autocomplete: 'current-password', required: true, focus: true, maxlength: 1000, error: fieldError('current_password') })}
${passwordField(frame, { name: 'new_password', label: messages.newPassword, autocomplete: 'new-password', required: true, maxlength: 1000, hint: messages.newPasswordHint(data.leastPassword), error: fieldError('new_password') })}
<div class="actions"><button type="submit" id="password-submit">${messages.changePassword}</button>
<a class="button plain" href="${frame.base}/account/security">${messages.cancel}</a></div>`,
)}`
  return page(frame, { title: messages.changePassword, body, scripts: [frame.assets.controlsScript] })
}
