import * as tf from '@tensorflow/tfjs-core';

import { describeEachBackend, describeNative } from '../../testing/backends';
import { initialiseBackend } from './initialise-backend';
import { trainerEnvironment } from './trainer-environment';

describeEachBackend('initialiseBackend', (backend) => {
  it('starts the backend that is asked for and says what it is', async () => {
    const info = await initialiseBackend({ prefer: backend });
    expect(info).toMatchObject({ name: backend, recorded: backend === 'tensorflow', tried: [] });
    expect(info.library).toMatch(/^TensorFlow\.js \d+\.\d+/);
    expect(tf.getBackend()).toBe(backend);
    expect(tf.matMul([[1, 2]], [[3], [4]]).dataSync()[0]).toBe(11);
  });

  it('has gradients', () => {
    expect(
      tf
        .grad((x) => tf.square(x))(tf.scalar(3))
        .dataSync()[0],
    ).toBeCloseTo(6);
  });
});

describeNative('initialiseBackend', () => {
  it('shares one tfjs-core with the native package', async () => {
    await initialiseBackend();
    expect(jest.requireActual('@tensorflow/tfjs-node').getBackend()).toBe('tensorflow');
    expect(jest.requireActual('@tensorflow/tfjs-node').engine()).toBe(tf.engine());
  });
});

describe('initialiseBackend without the native addon', () => {
  const load = async () => {
    jest.resetModules();
    jest.doMock('@tensorflow/tfjs-node', () => {
      throw new Error('the addon is not built\nmore about it');
    });
    return (await import('./initialise-backend')).initialiseBackend;
  };
  afterAll(() => {
    jest.dontMock('@tensorflow/tfjs-node');
    jest.resetModules();
  });

  it('goes on to the next and keeps the reason', async () => {
    const info = await (await load())();
    expect(info).toMatchObject({ name: 'wasm', recorded: false });
    expect(info.tried).toEqual([{ name: 'tensorflow', failure: 'the addon is not built' }]);
  });

  it('refuses when no other will do', async () => {
    await expect((await load())({ prefer: 'tensorflow' })).rejects.toMatchObject({
      code: 'backend-unavailable',
      message: expect.stringContaining('tensorflow: the addon is not built'),
    });
  });
});

describe('trainerEnvironment', () => {
  it('keeps large buffers with the allocator and TensorFlow quiet', () => {
    expect(trainerEnvironment()).toEqual({
      MALLOC_MMAP_THRESHOLD_: '1073741824',
      MALLOC_TRIM_THRESHOLD_: '4294967296',
      MALLOC_TOP_PAD_: '67108864',
      TF_CPP_MIN_LOG_LEVEL: '3',
    });
  });
});
