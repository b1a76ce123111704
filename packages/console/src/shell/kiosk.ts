/** Whether only the area is shown, without the navigation: for screens on a wall. */
import { signal } from '@preact/signals'

export const isKiosk = signal(false)
