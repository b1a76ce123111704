/** The globals of a page that are used for signing in: the types of the DOM are not everywhere. */
export interface Page {
    readonly location: {
        readonly href: string;
        readonly origin: string;
        readonly pathname: string;
        readonly search: string;
        assign(url: string): void;
        replace(url: string): void;
    };
    readonly history: {
        replaceState(state: unknown, title: string, url: string): void;
    };
    readonly sessionStorage: Storage;
    readonly localStorage: Storage | undefined;
    readonly document: {
        createElement(name: 'iframe'): Frame;
        readonly body: {
            append(frame: Frame): void;
        };
    };
    open(url: string, name: string, features: string): {
        location: unknown;
        readonly closed: boolean;
        close(): void;
    } | null;
    close(): void;
    addEventListener(type: 'storage', listener: (event: {
        readonly key: string | null;
    }) => void): void;
    removeEventListener(type: 'storage', listener: (event: {
        readonly key: string | null;
    }) => void): void;
}
interface Storage {
    getItem(key: string): string | null;
    setItem(key: string, value: string): void;
    removeItem(key: string): void;
}
interface Frame {
    src: string;
    hidden: boolean;
    remove(): void;
}
export {};
