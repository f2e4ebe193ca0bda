/**
 * Where things of the compose network are on this machine. Each service has a loopback address of its own, so that every
 * port stays what the file says; folders of images and volumes are folders here.
 */
export class Places {
  #hosts = new Map();
  #subnet;

  /** Another one for each run, so that two of them do not meet. */
  constructor(subnet) {
    this.#subnet = subnet;
  }

  /** The address of a service, or of its second instance. */
  address(service) {
    if (!this.#hosts.has(service)) {
      this.#hosts.set(service, `127.77.${this.#subnet}.${this.#hosts.size + 2}`);
    }
    return this.#hosts.get(service);
  }

  lines() {
    return [...this.#hosts].map(([name, address]) => `host ${name} -> ${address}`);
  }

  /**
   * A value of the environment: names of hosts where a host can stand, the machine's own addresses, and paths. A user or
   * a database that is called like a service keeps its name.
   */
  value(name, text, { own, paths }) {
    if (/^\w+:\/\//.test(text)) return this.#url(text, own);
    const host = /^([\w.-]+)(:\d+)?$/.exec(text);
    const isHost = host && (host[2] || /(?:HOST|SEEDS|ADDRESS|ON_IP)$/.test(name));
    if (isHost) return `${this.#host(host[1], own)}${host[2] ?? ''}`;
    return withPaths(text, paths);
  }

  #url(text, own) {
    return text.replace(
      /^(\w+:\/\/(?:[^@/]*@)?)([\w.-]+)/,
      (_, before, host) => `${before}${this.#host(host, own)}`,
    );
  }

  #host(name, own) {
    if (['0.0.0.0', '127.0.0.1', 'localhost'].includes(name)) return own;
    return this.#hosts.get(name) ?? name;
  }
}

/** Replaces the folders of an image or a volume at the beginning of paths. */
export function withPaths(text, paths) {
  let replaced = text;
  for (const [from, to] of paths) {
    const pattern = new RegExp(`(^|[\\s"'=:])${from.replace(/[.\\/]/g, '\\$&')}(?=$|[\\s"'/:])`, 'gm');
    replaced = replaced.replace(pattern, (_, before) => `${before}${to}`);
  }
  return replaced;
}
