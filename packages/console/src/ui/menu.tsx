/** A button with a menu: arrow keys move, Escape and a click elsewhere close it. */
import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { classes } from './button.tsx'
import { Icon, type IconName } from './icon.tsx'

export type MenuItem =
  | {
      readonly title: string
      /** Of the title, where it is not that of the page. */
      readonly lang?: string
      readonly icon?: IconName
      readonly danger?: boolean
      readonly disabled?: boolean
      /** For one of several choices; true for the current one. */
      readonly checked?: boolean
      /** A link, in place of `act`. */
      readonly href?: string
      readonly act?: () => void
    }
  | 'line'

export interface MenuProps {
  /** What the menu is called, and the button that has only an icon. */
  readonly label: string
  readonly items: readonly MenuItem[]
  /** The content of the button; three dots by default. */
  readonly children?: ComponentChildren
  readonly class?: string
  /** -1 where other keys lead to the button, as in a grid. */
  readonly tabIndex?: number
  /** Text above the items. */
  readonly header?: ComponentChildren
}

export function Menu({
  label,
  items,
  children,
  class: more = 'button plain icon-button',
  tabIndex,
  header,
}: MenuProps) {
  const id = useId()
  const [open, setOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  const menu = useRef<HTMLDivElement>(null)
  // When the items are there, and the menu has its size.
  useLayoutEffect(() => {
    if (!open || menu.current === null || button.current === null) return
    placeNextTo(menu.current, button.current)
    enabledItems(menu.current)[0]?.focus()
  }, [open])
  return (
    <>
      <button
        ref={button}
        type="button"
        class={more}
        tabIndex={tabIndex}
        aria-haspopup="menu"
        aria-expanded={open}
        aria-label={children === undefined ? label : undefined}
        title={label}
        popovertarget={id}
      >
        {children ?? <Icon name="dots" />}
      </button>
      <div
        ref={menu}
        id={id}
        popover="auto"
        role="menu"
        tabIndex={-1}
        aria-label={label}
        class="menu"
        onToggle={(event) => {
          setOpen(event.newState === 'open')
        }}
        onKeyDown={(event) => moveFocus(event, event.currentTarget)}
      >
        {header !== undefined && (
          <div class="menu-header" role="presentation">
            {header}
          </div>
        )}
        {open && items.map((item, index) => <Item key={index} item={item} close={() => menu.current?.hidePopover()} />)}
      </div>
    </>
  )
}

function Item({ item, close }: { readonly item: MenuItem; readonly close: () => void }) {
  if (item === 'line') return <hr class="menu-line" />
  const { title, icon, danger = false, disabled, checked, href, act, lang } = item
  const content = (
    <>
      {checked === undefined ? icon !== undefined && <Icon name={icon} /> : <CheckMark checked={checked} />}
      {title}
    </>
  )
  const style = classes('menu-item', danger && 'danger')
  if (href !== undefined)
    return (
      <a role="menuitem" class={style} href={href} tabIndex={-1} onClick={close}>
        {content}
      </a>
    )
  const choose = () => {
    close()
    act?.()
  }
  return checked === undefined ? (
    <button type="button" role="menuitem" class={style} tabIndex={-1} disabled={disabled} onClick={choose}>
      {content}
    </button>
  ) : (
    <button
      type="button"
      role="menuitemradio"
      aria-checked={checked}
      lang={lang}
      class={style}
      tabIndex={-1}
      disabled={disabled}
      onClick={choose}
    >
      {content}
    </button>
  )
}

function CheckMark({ checked }: { readonly checked: boolean }) {
  return <Icon name="check" class={checked ? '' : 'unseen'} />
}

/** Below the button or above it, inside the window. */
export function placeNextTo(popover: HTMLElement, button: HTMLElement): void {
  const at = button.getBoundingClientRect()
  const { width, height } = popover.getBoundingClientRect()
  const gap = 4
  const fitsBelow = at.bottom + gap + height <= innerHeight - gap
  const top = fitsBelow ? at.bottom + gap : Math.max(gap, at.top - gap - height)
  const left = Math.min(at.left, innerWidth - width - 2 * gap)
  popover.style.setProperty('top', `${top}px`)
  popover.style.setProperty('left', `${Math.max(gap, at.left + width > innerWidth ? at.right - width : left)}px`)
}

function moveFocus(event: KeyboardEvent, menu: HTMLElement): void {
  const items = enabledItems(menu)
  const current = items.findIndex((item) => item.matches(':focus'))
  const moves = new Map([
    ['ArrowDown', (current + 1) % items.length],
    ['ArrowUp', (current - 1 + items.length) % items.length],
    ['Home', 0],
    ['End', items.length - 1],
  ])
  const next = moves.get(event.key)
  if (next === undefined) {
    if (event.key === 'Tab') menu.hidePopover()
    return
  }
  event.preventDefault()
  items[next]?.focus()
}

function enabledItems(menu: HTMLElement): HTMLElement[] {
  return [...menu.querySelectorAll<HTMLElement>('.menu-item:not(:disabled)')]
}
