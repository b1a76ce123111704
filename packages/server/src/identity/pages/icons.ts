/** Icons as inline SVG in the colour of the text around them. They only repeat what the text says. */
import { Html, html } from './html.ts'

const PATHS = {
  alert: '<circle cx="10" cy="10" r="7.5"/><path d="M10 6.25v4.5M10 13.5v.01"/>',
  chart: '<path d="M3 16.5h14M4.5 13l3.5-4 3 2.5L16 5"/>',
  check: '<path d="M4.5 10.5l3.5 3.5 7.5-8"/>',
  chevron: '<path d="M6 8l4 4 4-4"/>',
  cross: '<path d="M5.5 5.5l9 9M14.5 5.5l-9 9"/>',
  console: '<rect x="2.5" y="3.5" width="15" height="13" rx="2"/><path d="M6 8l2.25 2L6 12M10.5 12.5h3.5"/>',
  devices:
    '<rect x="2.5" y="4" width="11" height="8.5" rx="1.5"/><path d="M5.5 16h4"/><rect x="12.5" y="8" width="5" height="8.5" rx="1.25"/>',
  document: '<path d="M5 2.75h6.5L15.5 7v10.25H5zM11.25 2.75v4.5h4.25M7.75 10.75h5M7.75 13.75h5"/>',
  eye: '<path d="M1.75 10S4.75 4.75 10 4.75 18.25 10 18.25 10 15.25 15.25 10 15.25 1.75 10 1.75 10z"/><circle cx="10" cy="10" r="2.25"/>',
  eyeOff:
    '<path d="M7.9 5.05A8 8 0 0 1 10 4.75c5.25 0 8.25 5.25 8.25 5.25a14 14 0 0 1-2.2 2.75M5 6.4A13.6 13.6 0 0 0 1.75 10S4.75 15.25 10 15.25a8.2 8.2 0 0 0 4-1.05M3 3l14 14"/>',
  grid: '<rect x="3" y="3" width="5.5" height="5.5" rx="1"/><rect x="11.5" y="3" width="5.5" height="5.5" rx="1"/><rect x="3" y="11.5" width="5.5" height="5.5" rx="1"/><rect x="11.5" y="11.5" width="5.5" height="5.5" rx="1"/>',
  lock: '<rect x="3.75" y="8.75" width="12.5" height="8.5" rx="1.75"/><path d="M6.5 8.75V6.25a3.5 3.5 0 0 1 7 0v2.5"/>',
  person: '<circle cx="10" cy="6.75" r="3.5"/><path d="M3 17.25c.6-3.5 3.4-5.25 7-5.25s6.4 1.75 7 5.25"/>',
  search: '<circle cx="8.75" cy="8.75" r="5.5"/><path d="M13 13l4.25 4.25"/>',
} as const satisfies Readonly<Record<string, string>>

export type IconName = keyof typeof PATHS

export function icon(name: IconName, className = ''): Html {
  const classes = className === '' ? 'icon' : `icon ${className}`
  return html`<svg class="${classes}" viewBox="0 0 20 20" aria-hidden="true" focusable="false">${new Html(PATHS[name])}</svg>`
}
