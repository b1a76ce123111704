/** Buttons: what can be done. */
import type { ButtonHTMLAttributes, ComponentChildren } from 'preact'
import { Icon, type IconName } from './icon.tsx'
import { Spinner } from './spinner.tsx'

type NativeButton = Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'icon' | 'size' | 'label'>

export interface ButtonProps extends NativeButton {
  /** `primary` for the one main action, `danger` for what cannot be undone, `plain` without a border. */
  readonly kind?: 'primary' | 'danger' | 'plain' | undefined
  readonly icon?: IconName | undefined
  readonly size?: 'small' | undefined
  /** Shows that work is in progress, and disables the button. */
  readonly busy?: boolean | undefined
  readonly children?: ComponentChildren
}

export function Button({ kind, icon, size, busy = false, disabled, children, class: more, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      class={classes('button', kind, size, more)}
      disabled={busy || disabled === true}
      aria-busy={busy || undefined}
    >
      {busy ? <Spinner /> : icon !== undefined && <Icon name={icon} />}
      {children}
    </button>
  )
}

export interface IconButtonProps extends Omit<ButtonProps, 'children' | 'icon'> {
  readonly icon: IconName
  /** What it does: read aloud, and shown when pointed at. */
  readonly label: string
}

export function IconButton({ icon, label, kind = 'plain', ...rest }: IconButtonProps) {
  return <Button {...rest} kind={kind} icon={icon} aria-label={label} title={label} class="icon-button" />
}

/** A link that looks like a button. */
export function ButtonLink({
  href,
  kind,
  icon,
  size,
  children,
  ...rest
}: Pick<ButtonProps, 'kind' | 'icon' | 'size' | 'children'> & {
  readonly href: string
  readonly target?: '_blank'
  readonly download?: string
}) {
  return (
    <a {...rest} href={href} class={classes('button', kind, size)}>
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </a>
  )
}

export function classes(...names: readonly unknown[]): string {
  return names.filter((name) => typeof name === 'string' && name !== '').join(' ')
}
