/** Icons: lines on a grid of 20, in the colour of the text. */

const PATHS = {
  application:
    'M3.5 5.5a2 2 0 0 1 2-2h9a2 2 0 0 1 2 2v9a2 2 0 0 1-2 2h-9a2 2 0 0 1-2-2zM3.5 7.5h13M6 5.5h.01M8.2 5.5h.01',
  back: 'M12 5l-5 5 5 5',
  board: 'M3.5 4.5h5.5v7H3.5zM11.5 4.5h5v4h-5zM11.5 11.5h5v4h-5zM3.5 14.5H9',
  book: 'M4 4.5c2.5-.8 4.5-.5 6 .8 1.5-1.3 3.5-1.6 6-.8v11c-2.5-.8-4.5-.5-6 .8-1.5-1.3-3.5-1.6-6-.8zM10 5.3v11',
  bolt: 'M11 2.5 4.5 11.5H10l-1 6 6.5-9H10z',
  chart: 'M3.5 3.5v13h13M6.5 12.5l3-4 2.5 2.5 4-5.5',
  check: 'M4.5 10.5l3.5 3.5 7.5-8',
  clock: 'M10 3a7 7 0 1 1 0 14 7 7 0 0 1 0-14zM10 6.5V10l2.5 1.8',
  close: 'M5 5l10 10M15 5 5 15',
  code: 'M7 6l-4 4 4 4M13 6l4 4-4 4',
  columns: 'M4 4.5h12v11H4zM8 4.5v11M12 4.5v11',
  copy: 'M7.5 7.5h9v9h-9zM12.5 7.5v-4h-9v9h4',
  dots: 'M5.2 10a.7.7 0 1 1-1.4 0 .7.7 0 0 1 1.4 0zM10.7 10a.7.7 0 1 1-1.4 0 .7.7 0 0 1 1.4 0zM16.2 10a.7.7 0 1 1-1.4 0 .7.7 0 0 1 1.4 0z',
  down: 'M5.5 8l4.5 4.5L14.5 8',
  download: 'M10 3.5v9M6.5 9.5 10 13l3.5-3.5M4 16.5h12',
  edit: 'M12.5 4.5l3 3-8.5 8.5H4v-3z',
  error: 'M10 3a7 7 0 1 1 0 14 7 7 0 0 1 0-14zM10 6.5v4M10 13.4h.01',
  expand: 'M4 8V4h4M12 4h4v4M16 12v4h-4M8 16H4v-4',
  external: 'M8 4.5H4.5v11h11V12M11.5 4h4.5v4.5M15.5 4.5 9.5 10.5',
  eye: 'M2.5 10S5 5 10 5s7.5 5 7.5 5-2.5 5-7.5 5-7.5-5-7.5-5zM10 8a2 2 0 1 1 0 4 2 2 0 0 1 0-4z',
  filter: 'M3.5 5h13M6 10h8M8.5 15h3',
  history: 'M3.5 4.5v3.5H7M3.8 8A6.6 6.6 0 1 1 3.4 11M10 6.8V10l2.3 1.6',
  home: 'M3.5 9.5 10 4l6.5 5.5M5 8.5v8h10v-8M8.5 16.5v-4.5h3v4.5',
  info: 'M10 3a7 7 0 1 1 0 14 7 7 0 0 1 0-14zM10 9.3v4M10 6.6h.01',
  key: 'M7 9.5a3.5 3.5 0 1 1 0 7 3.5 3.5 0 0 1 0-7zM9.5 10.5l6.5-6.5M13.5 6.5l2 2M11.5 8.5l1.5 1.5',
  link: 'M8.5 11.5a3 3 0 0 0 4.2 0l2.6-2.6a3 3 0 1 0-4.2-4.2l-.9.9M11.5 8.5a3 3 0 0 0-4.2 0l-2.6 2.6a3 3 0 1 0 4.2 4.2l.9-.9',
  lock: 'M5 9h10v7.5H5zM7 9V6.5a3 3 0 0 1 6 0V9',
  menu: 'M3.5 5.5h13M3.5 10h13M3.5 14.5h13',
  minus: 'M4.5 10h11',
  moon: 'M16.2 11.8A6.5 6.5 0 0 1 8.2 3.8a6.5 6.5 0 1 0 8 8z',
  operations: 'M2.5 10h3.2l2-5.5 4 11 2.3-5.5h3.5',
  pause: 'M7 4.5v11M13 4.5v11',
  people:
    'M7.5 4a3 3 0 1 1 0 6 3 3 0 0 1 0-6zM2 16.5c.3-2.8 2.5-4.3 5.5-4.3s5.2 1.5 5.5 4.3M13 4.3a2.8 2.8 0 0 1 0 5.4M14.5 12.5c2 .4 3.3 1.8 3.5 4',
  pin: 'M7 3.5h6M8 3.5v5L5.5 11.5h9L12 8.5v-5M10 11.5v5',
  play: 'M6.5 4l9 6-9 6z',
  plus: 'M10 4.5v11M4.5 10h11',
  print: 'M6 7.5v-4h8v4M6 13.5H3.5v-6h13v6H14M6 11.5h8v5H6z',
  query: 'M4 5.5l4 4.5-4 4.5M10 14.5h6.5',
  refresh: 'M15.8 8A6.2 6.2 0 1 0 16 11.5M16.2 4v4h-4',
  right: 'M8 5.5l4.5 4.5L8 14.5',
  save: 'M4 4h9.5L16 6.5V16H4zM7 4v4h5V4M7 16v-4.5h6V16',
  search: 'M9 3.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11zM13 13l3.5 3.5',
  settings: 'M3.5 6h6M13.5 6h3M3.5 14h3M10.5 14h6M11.5 4v4M8.5 12v4',
  shield: 'M10 3l6 2v5c0 3.6-2.5 6-6 7-3.5-1-6-3.4-6-7V5z',
  sidebar: 'M3.5 4.5h13v11h-13zM8 4.5v11',
  signout: 'M8 4H4v12h4M8.5 10h8M13.5 7l3 3-3 3',
  star: 'M10 3.3l2 4.3 4.7.6-3.4 3.2.9 4.6-4.2-2.3L5.8 16l.9-4.6-3.4-3.2 4.7-.6z',
  stop: 'M5.5 5.5h9v9h-9z',
  stream:
    'M6.8 13.2a4.5 4.5 0 0 1 0-6.4M13.2 6.8a4.5 4.5 0 0 1 0 6.4M4.2 15.8a8.2 8.2 0 0 1 0-11.6M15.8 4.2a8.2 8.2 0 0 1 0 11.6M10 10h.01',
  sun: 'M10 6.8a3.2 3.2 0 1 1 0 6.4 3.2 3.2 0 0 1 0-6.4zM10 2.5v1.5M10 16v1.5M2.5 10H4M16 10h1.5M4.7 4.7l1 1M14.3 14.3l1 1M15.3 4.7l-1 1M5.7 14.3l-1 1',
  system: 'M3 4.5h14v9H3zM7.5 16.5h5M10 13.5v3',
  table: 'M3.5 4.5h13v11h-13zM3.5 8.2h13M3.5 11.9h13M8.5 4.5v11',
  trash: 'M4 5.5h12M8 5.5V3.5h4v2M5.5 5.5l.7 11h7.6l.7-11M8.5 8.5v5M11.5 8.5v5',
  up: 'M5.5 12.5 10 8l4.5 4.5',
  upload: 'M10 13V4M6.5 7 10 3.5 13.5 7M4 16.5h12',
  user: 'M10 3.8a3.2 3.2 0 1 1 0 6.4 3.2 3.2 0 0 1 0-6.4zM4 16.8c.4-3 2.8-4.6 6-4.6s5.6 1.6 6 4.6',
  warning: 'M10 3.5l7.5 13h-15zM10 8.5v3.5M10 14.2h.01',
} as const

export type IconName = keyof typeof PATHS

/** Decoration: the text or label next to it says what it stands for. */
export function Icon({ name, class: more = '' }: { readonly name: IconName; readonly class?: string }) {
  return (
    <svg class={`icon ${more}`} viewBox="0 0 20 20" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  )
}
