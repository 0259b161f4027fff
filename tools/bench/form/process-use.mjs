import { readFileSync, readdirSync } from 'node:fs';

const TICKS_PER_SECOND = 100; // USER_HZ, the same on every Linux that Node runs on
const SAMPLE_MS = 250;

/**
 * What processes use while a work runs: processor cores (1 = one core the whole time) and the most memory in MiB, each
 * with all processes that it started. Memory is the resident set less what is shared with other processes, where the
 * system tells. Without /proc (not Linux), nothing.
 *
 * @param {Record<string, number>} pids by name
 * @param {() => Promise<T>} work
 * @returns {Promise<{ result: T, processes: Record<string, { cores: number, mebibytes: number }> }>}
 * @template T
 */
export async function watchProcesses(pids, work) {
  const most = {};
  const look = () => {
    for (const [name, pid] of Object.entries(pids)) {
      const mebibytes = treeOf(pid).reduce((sum, member) => sum + memoryOf(member), 0) / 1024;
      most[name] = Math.max(most[name] ?? 0, mebibytes);
    }
  };
  const secondsOf = () =>
    Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, cpuSecondsOf(pid)]));
  look();
  const before = secondsOf();
  const began = performance.now();
  const timer = setInterval(look, SAMPLE_MS);
  try {
    const result = await work();
    const seconds = (performance.now() - began) / 1000;
    const after = secondsOf();
    look();
    const processes = Object.fromEntries(
      Object.keys(pids).flatMap((name) =>
        Number.isNaN(after[name])
          ? []
          : [[name, { cores: (after[name] - before[name]) / seconds, mebibytes: most[name] }]],
      ),
    );
    return { result, processes };
  } finally {
    clearInterval(timer);
  }
}

/** Resident memory of one process in MiB; NaN where the system doesn't tell, or it has ended. */
export function residentMebibytes(pid) {
  const kibibytes = /VmRSS:\s+(\d+) kB/.exec(read(`/proc/${pid}/status`))?.[1];
  return kibibytes === undefined ? NaN : Number(kibibytes) / 1024;
}

/** With what children that have ended used, so that nothing is missed. */
function cpuSecondsOf(root) {
  if (read(`/proc/${root}/stat`) === '') return NaN;
  return treeOf(root).reduce((sum, pid) => sum + ticksOf(pid), 0) / TICKS_PER_SECOND;
}

function ticksOf(pid) {
  const fields = fieldsOf(pid);
  return fields === undefined ? 0 : [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at]), 0);
}

/** The fields of /proc/PID/stat after the program's name, which may hold spaces. */
function fieldsOf(pid) {
  const stat = read(`/proc/${pid}/stat`);
  return stat === '' ? undefined : stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function memoryOf(pid) {
  const proportional = /^Pss:\s+(\d+) kB/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1];
  if (proportional !== undefined) return Number(proportional);
  return Number(/VmRSS:\s+(\d+) kB/.exec(read(`/proc/${pid}/status`))?.[1] ?? 0);
}

function treeOf(root) {
  const children = threadsOf(root).flatMap((thread) =>
    read(`/proc/${root}/task/${thread}/children`).split(' ').filter(Boolean).map(Number),
  );
  return [root, ...children.flatMap(treeOf)];
}

function threadsOf(pid) {
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number);
  } catch {
    return [];
  }
}

function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
