/** Leaving: the question whether to, and the page that tells every application and then goes back. */
import { ownForm, who } from './form-parts.ts'
import { type Html, html } from './html.ts'
import { type Frame, page } from './layout.ts'

export interface SignOutData {
  readonly flow: string
  readonly username: string
  /** The application that asks, when it is known. */
  readonly client: string | undefined
}

export function signOutPage(frame: Frame, data: SignOutData): Html {
  const { messages } = frame.language
  const body = html`
<h1>${messages.signOutAsk}</h1>
${data.client !== undefined && html`<p class="lead">${messages.signOutFrom(data.client)}</p>`}
${who(messages.signedInAs(data.username), data.username)}
${ownForm(
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
  /** Front-channel addresses, one for each application of the session. */
  readonly frames: readonly string[]
  /** Where the application wants the person back, and its name. */
  readonly next: { readonly url: string; readonly client: string } | undefined
  /** How long the frames get before the page goes on. */
  readonly waitSeconds: number
  /** Address of the script that goes on as soon as every frame has loaded. */
  readonly script: string
}

/** Goes on without scripts too, only later; a frame that hangs cannot hold it (OpenID Connect Front-Channel Logout §3). */
export function signedOutPage(frame: Frame, data: SignedOutData): Html {
  const { messages } = frame.language
  const body = html`
<h1>${messages.signedOut}</h1>
<p class="lead">${data.next === undefined ? messages.signedOutLead : messages.formPostLead(data.next.client)}</p>
${data.next !== undefined && html`<div class="actions"><a class="button" id="signed-out-continue" href="${data.next.url}">${messages.backTo(data.next.client)}</a></div>`}`
  const goOn =
    data.next === undefined
      ? {}
      : {
          script: data.script,
          head: html`<noscript><meta http-equiv="refresh" content="${data.waitSeconds};url=${data.next.url}"></noscript>\n`,
        }
  const frames = data.frames.map(
    (url) => html`<iframe class="frames" src="${url}" title="" aria-hidden="true" tabindex="-1"></iframe>\n`,
  )
  return page(frame, {
    title: messages.signedOut,
    body,
    ...goOn,
    after: html`<div id="frames" data-wait="${data.waitSeconds}">${frames}</div>\n`,
  })
}

export function stillSignedInPage(frame: Frame, username: string): Html {
  const { messages } = frame.language
  const body = html`<h1>${messages.stillSignedIn}</h1>${who(messages.signedInAs(username), username)}
<div class="actions"><a class="button plain" href="${frame.base}/account">${messages.account}</a></div>`
  return page(frame, { title: messages.stillSignedIn, body })
}
