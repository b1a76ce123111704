/** `/` for people: what this server is, whether it is well, and where to go. Programs get what any unknown path gets. */

import { Refusal, VERSION } from 'gatehouse-protocol'
import type { Context } from '../http/context.ts'
import type { Readiness } from '../http/health.ts'
import { prefersHtml } from '../http/request/accept.ts'
import {
  anonymousFrame,
  type Html,
  html,
  type IconName,
  icon,
  type PageFrame,
  type PageSettings,
  PLACES,
  type Place,
  sendPage,
  sitePage,
} from '../identity/page-parts.ts'

export interface StartParts {
  /** Whether the market of the demonstration runs. */
  readonly hasPrices: boolean
  /** The user who is signed in, for their recent work; undefined where there is no console or no sign-in. */
  readonly findUser: ((context: Context) => Promise<StartUser | undefined>) | undefined
}

export interface StartUser {
  readonly id: string
  readonly locale: string | undefined
}

export async function showStart(
  context: Context,
  pages: PageSettings,
  readiness: () => Promise<Readiness>,
  { hasPrices, findUser }: StartParts,
): Promise<void> {
  if (!prefersHtml(context)) throw new Refusal('http.not_found', 404, 'Nothing is served at this address')
  context.addVary('accept')
  const [state, user] = await Promise.all([readiness(), findUser?.(context)])
  const frame = anonymousFrame(pages, context, user?.locale)
  const page = startPage(frame, state, { hasPrices, userId: user?.id })
  sendPage(context, page, { scripts: "'self'", connects: true })
}

const ICONS: Readonly<Record<Place, IconName>> = { console: 'console', account: 'person', documentation: 'document' }

function startPage(
  frame: PageFrame,
  readiness: Readiness,
  { hasPrices, userId }: { readonly hasPrices: boolean; readonly userId: string | undefined },
): Html {
  const { brand, language, places, assets, base } = frame
  const { messages } = language
  const tiles = places.map(
    (place) =>
      html`<li><a class="tile" href="${base}${PLACES[place]}">${icon(ICONS[place])}<strong>${messages.place[place]}</strong><span>${messages.placeLead[place]}</span></a></li>`,
  )
  const links = places.includes('account')
    ? [
        link('/.well-known/openid-configuration', messages.discovery),
        link('/openapi.json', messages.openApi),
        link('/.well-known/openid-configuration/jwks', messages.keys),
      ]
    : [link('/openapi.json', messages.openApi)]
  const body = html`<main class="start" id="content">
<h1>${messages.start(brand.name)}</h1>
<p class="lead">${messages.startLead}</p>
${hasPrices && pricesPanel(frame)}${userId !== undefined && recentPanel(frame, userId)}<ul class="tiles">${tiles}</ul>
<div class="panels">
${healthPanel(frame, readiness)}
<section class="panel" aria-labelledby="developers-title"><h2 id="developers-title">${messages.developers}</h2><ul>${links}</ul></section>
</div>
<p class="foot">${messages.version(VERSION)}</p>
</main>`
  return sitePage(frame, {
    title: brand.name,
    body,
    scripts: [
      assets.healthScript,
      ...(hasPrices ? [assets.pricesScript] : []),
      ...(userId === undefined ? [] : [assets.recentScript]),
    ],
  })

  function link(path: string, text: string): Html {
    return html`<li><a href="${base}${path}">${text}</a></li>`
  }
}

/** A script shows it when it has prices. */
function pricesPanel({ base, language: { messages } }: PageFrame): Html {
  return html`<section class="panel prices" id="prices" aria-labelledby="prices-title" data-url="${base}/demo/prices" data-late="${messages.pricesLate}" data-waiting="${messages.pricesWaiting}">
<h2 id="prices-title">${messages.prices}</h2><p class="quiet">${messages.pricesLead} <span class="late" aria-live="polite"></span></p>
<ul></ul></section>
`
}

/** A script fills it from what the console has stored in this browser, and shows it if there is something. */
function recentPanel({ base, language: { messages } }: PageFrame, userId: string): Html {
  const { statement, query, board, table } = messages.recentKind
  const texts = html`data-statement="${statement}" data-query="${query}" data-board="${board}" data-table="${table}"`
  return html`<section class="panel recent" id="recent" aria-labelledby="recent-title" data-user="${userId}" data-console="${base}/console" ${texts} hidden>
<h2 id="recent-title">${messages.recent}</h2>
<ul></ul></section>
`
}

/** As it is now; a script keeps it up to date from /readyz. */
function healthPanel({ base, language }: PageFrame, { status, checks }: Readiness): Html {
  const { messages } = language
  const parts = Object.entries(checks).map(
    ([name, state]) =>
      html`<li data-check="${name}" data-state="${state === 'ok' ? 'ok' : 'bad'}"><span>${partName(name)}</span><b>${state === 'ok' ? messages.healthOk : state}</b></li>`,
  )
  const texts = html`data-ok="${messages.healthy}" data-bad="${messages.unhealthy}" data-unknown="${messages.healthUnknown}" data-running="${messages.healthOk}"`
  return html`<section class="panel" id="health" aria-labelledby="health-title" data-url="${base}/readyz" ${texts}>
<h2 id="health-title">${messages.health}</h2>
<p class="health" role="status" data-state="${status === 'ok' ? 'ok' : 'bad'}">${status === 'ok' ? messages.healthy : messages.unhealthy}</p>
<ul class="checks">${parts}</ul></section>`

  function partName(name: string): string {
    const names = messages.healthPart
    return (Object.hasOwn(names, name) ? names[name] : undefined) ?? name
  }
}
