export { MechanismTrainingModule, type MechanismTrainingOptions } from './mechanism-training.module';
