/** The pages about market data: what a person has of each product, and the text of an agreement. */
import type { OwnAgreement, OwnPlace, OwnProduct } from '../own-licences.ts'
import { errorSummary, type FormError, hidden, postForm } from './form-parts.ts'
import { fill, type Html, html } from './html.ts'
import { type PageFrame, page } from './layout.ts'
import type { Messages } from './messages/en.ts'
import { date, dateAndTime } from './times.ts'

export interface DataSection {
  readonly products: readonly OwnProduct[]
  readonly places: readonly OwnPlace[]
  readonly timeZone: string | undefined
}

export function dataSection(frame: PageFrame, { products, places, timeZone }: DataSection): Html {
  const { data } = frame.language.messages
  const rows = products.map((product) => productRow(frame, product, timeZone))
  const held = places.map(
    ({
      product,
      access,
      since,
      isOwn,
    }) => html`<li><div><p>${product}${isOwn && html` <span class="badge">${frame.language.messages.thisSession}</span>`}</p>
<p class="quiet">${data.access[access]} · ${fill(data.since, dateAndTime(frame, since, timeZone))}</p></div></li>`,
  )
  return html`<section class="card" aria-labelledby="products-title"><h2 id="products-title">${data.products}</h2>
${rows.length === 0 ? html`<p class="empty">${data.noProducts}</p>` : html`<ul class="rows" id="products">${rows}</ul>`}</section>
<section class="card" aria-labelledby="places-title"><h2 id="places-title">${data.places}</h2>
<p class="quiet">${data.placesLead}</p>
${held.length === 0 ? html`<p class="empty">${data.noPlaces}</p>` : html`<ul class="rows" id="places">${held}</ul>`}</section>`
}

function productRow(frame: PageFrame, product: OwnProduct, timeZone: string | undefined): Html {
  const { base, language } = frame
  const { data } = language.messages
  const { name, until, agreement, trial } = product
  const path = `${base}/account/data/agreement?id=${encodeURIComponent(agreement?.id ?? '')}`
  return html`<li><div><p>${name} <span class="badge">${accessText(frame, product)}</span></p>
<p class="quiet">${reasonText(data, product)}${until !== undefined && html` ${fill(data.until, date(frame, until, timeZone))}`}</p></div>
<div class="inline">${
    agreement !== undefined &&
    html`<a class="button plain small" href="${path}" aria-label="${data.readNamed(agreement.title)}">${agreement.isAccepted ? data.read : data.readAndAccept}</a>`
  }${
    trial !== undefined &&
    html`<form method="post" action="${base}/account/data/trial">${hidden({ form_token: frame.formToken, product: name })}<button type="submit" class="small" aria-label="${data.beginTrialNamed(name)}">${data.beginTrial(duration(frame, trial))}</button></form>`
  }</div></li>`
}

function accessText(frame: PageFrame, { access, delay }: OwnProduct): string {
  const { data } = frame.language.messages
  return access === 'delayed' ? data.delayedBy(duration(frame, delay ?? 0)) : data.access[access]
}

function reasonText(data: Messages['data'], { access, reason }: OwnProduct): string {
  if (reason === 'agreement') return data.reason.agreement
  if (access !== 'none' && access !== 'delayed') return reason === 'trial' ? data.reason.trial : ''
  switch (reason) {
    case 'not_yet':
    case 'expired':
    case 'disabled':
    case 'trial':
      return data.reason[reason]
    default:
      return access === 'none' ? data.reason.none : ''
  }
}

const UNITS = [
  ['days', 86_400_000],
  ['hours', 3_600_000],
  ['minutes', 60_000],
  ['seconds', 1_000],
] as const

/** In the largest unit of which it is a whole number, such as `15 minutes`. */
function duration({ language }: PageFrame, milliseconds: number): string {
  const [unit, size] = UNITS.find(([, each]) => milliseconds % each === 0) ?? ['seconds', 1_000]
  return new Intl.NumberFormat(language.locale, {
    ...{ style: 'unit', unit: unit.slice(0, -1), unitDisplay: 'long' },
  }).format(milliseconds / size)
}

export interface AgreementData {
  readonly agreement: OwnAgreement
  readonly formError: FormError | undefined
}

export function agreementPage(frame: PageFrame, { agreement, formError }: AgreementData): Html {
  const { data, cancel } = frame.language.messages
  const { id, version, title, language, text, isAccepted, asksStatus, isProfessional, isStatusFixed } = agreement
  const status = (value: 'yes' | 'no', isChosen: boolean): Html =>
    html`<li><input type="radio" id="professional-${value}" name="professional" value="${value}"${isChosen && html` checked`}>
<label for="professional-${value}">${data.status[value]}</label></li>`
  const asks = asksStatus && !isStatusFixed
  const form = html`${
    asks &&
    html`<fieldset><legend>${data.statusAsk}</legend><ul class="scopes choices">${status('no', isProfessional === false)}${status('yes', isProfessional === true)}</ul></fieldset>`
  }<div class="actions">${!isAccepted && html`<button type="submit" id="agreement-accept">${data.accept}</button>`}
<a class="button plain" id="agreement-back" href="${frame.base}/account/data">${isAccepted ? data.back : cancel}</a></div>`
  const body = html`
<h1>${title}</h1>
<p class="lead">${data.version(version)}${isAccepted && html` ${data.isAccepted}`}</p>
${errorSummary(frame, formError)}
<div class="agreement" lang="${language}" tabindex="0">${text}</div>
${isAccepted ? form : postForm(frame, 'agreement', '/account/data/agreement', { id, version, language }, form)}`
  return page(frame, { title, body })
}
