/** The sign-out pages: confirmation, and front-channel logout of every application before returning to the client. */
import { postForm, signedInUser } from './form-parts.ts'
import { type Html, html } from './html.ts'
import { icon } from './icons.ts'
import { type PageFrame, page } from './layout.ts'

export interface SignOutData {
  readonly flow: string
  readonly username: string
  /** The application that requests it, if known. */
  readonly client: string | undefined
}

export function signOutPage(frame: PageFrame, data: SignOutData): Html {
  const { messages } = frame.language
  const body = html`
<h1>${messages.signOutAsk}</h1>
${data.client !== undefined && html`<p class="lead">${messages.signOutFrom(data.client)}</p>`}
${signedInUser(messages.signedInAs(data.username), data.username)}
${postForm(
  frame,
  'sign-out',
  '/sign-out',
  { flow: data.flow },
  html`<div class="actions">
<button type="submit" id="sign-out-confirm" name="decision" value="leave">${messages.signOut}</button>
<button type="submit" class="plain" id="sign-out-stay" name="decision" value="stay">${messages.staySignedIn}</button>
</div>`,
)}`
  return page(frame, { title: messages.signOut, body })
}

export interface SignedOutData {
  /** Front-channel logout URIs, one for each application of the session. */
  readonly frames: readonly string[]
  /** The application to which the user returns. */
  readonly next: { readonly url: string; readonly client: string } | undefined
  /** It is another provider, where the sign-out continues. */
  readonly isOnward: boolean
  /** How long the page waits for the iframes. */
  readonly waitSeconds: number
}

/** Continues without scripts too, after the full wait. An iframe that hangs does not block it (Front-Channel Logout §3). */
export function signedOutPage(frame: PageFrame, data: SignedOutData): Html {
  const { base, language } = frame
  const { messages } = language
  const ways =
    data.next === undefined
      ? html`<a class="button" id="signed-out-sign-in" href="${base}/sign-in">${messages.signInOnceMore}</a>
<a class="button plain" href="${base}/">${messages.toStart}</a>`
      : html`<a class="button" id="signed-out-continue" href="${data.next.url}">${data.isOnward ? messages.continue : messages.backTo(data.next.client)}</a>`
  const body = html`
<div class="state">${icon('check')}</div>
<h1>${messages.signedOut}</h1>
<p class="lead">${leadText()}</p>
<div class="actions">${ways}</div>`
  function leadText(): string {
    if (data.next === undefined) return messages.signedOutLead
    return data.isOnward ? messages.leavingFor(data.next.client) : messages.formPostLead(data.next.client)
  }
  const continuation =
    data.next === undefined
      ? {}
      : {
          scripts: [frame.assets.signedOutScript],
          head: html`<noscript><meta http-equiv="refresh" content="${data.waitSeconds};url=${data.next.url}"></noscript>\n`,
        }
  const frames = data.frames.map(
    (url) => html`<iframe class="frames" src="${url}" title="" aria-hidden="true" tabindex="-1"></iframe>\n`,
  )
  return page(frame, {
    title: messages.signedOut,
    body,
    ...continuation,
    after: html`<div id="frames" data-wait="${data.waitSeconds}">${frames}</div>\n`,
  })
}

export function stillSignedInPage(frame: PageFrame, username: string): Html {
  const { messages } = frame.language
  const body = html`<h1>${messages.stillSignedIn}</h1>${signedInUser(messages.signedInAs(username), username)}
<div class="actions"><a class="button" href="${frame.base}/account">${messages.account}</a>
<a class="button plain" href="${frame.base}/">${messages.toStart}</a></div>`
  return page(frame, { title: messages.stillSignedIn, body })
}
